// SPDX-License-Identifier: Apache-2.0
#include "oracle_json.h"

#include <longhold/base/json_text.h>

namespace longhold::mock {
namespace {

std::int64_t microseconds(const OracleBase& base, Instant time) {
    const auto since = std::chrono::floor<std::chrono::microseconds>(time - base.started);
    return (base.wall_started.time_since_epoch() + since).count();
}

void write_time(JsonWriter& json, const OracleBase& base, const std::optional<Instant>& time) {
    if (time) {
        json.value(microseconds(base, *time));
    } else {
        json.null();
    }
}

void write_interval(JsonWriter& json, const OracleBase& base, const Interval& interval) {
    json.begin_object().key("opened_at_us").value(microseconds(base, interval.opened)).key("closed_at_us");
    write_time(json, base, interval.closed);
    json.key("how").value(text(interval.how));
    json.key("remote_port").value(static_cast<std::uint64_t>(interval.remote_port)).key("cursor");
    if (interval.cursor) {
        json.value(*interval.cursor);
    } else {
        json.null();
    }
    json.key("sent").begin_array();
    for (const Sent& sent : interval.sent) {
        json.begin_object().key("stream").value(sent.stream).key("first").value(sent.first);
        json.key("last").value(sent.last).key("count").value(sent.count).end_object();
    }
    json.end_array().key("pings").value(interval.pings).key("messages").value(interval.messages);
    json.key("last_message").value(interval.last_message).end_object();
}

void write_feed(JsonWriter& json, const OracleBase& base, const Feed& feed) {
    json.begin_object().key("live").value(static_cast<std::uint64_t>(feed.live.size()));
    json.key("live_max").value(static_cast<std::uint64_t>(feed.live_max)).key("refused").value(feed.refused);
    json.key("streams").begin_array();
    for (std::uint32_t number = 1; number <= feed.stream(); ++number) {
        const Stream& stream = feed.streams()[number - 1];
        json.begin_object().key("stream").value(number).key("head").value(feed.head(number, base.now));
        json.key("started_at_us").value(microseconds(base, stream.started)).key("ended_at_us");
        write_time(json, base, stream.ended);
        json.end_object();
    }
    json.end_array().key("sockets").begin_array();
    for (const Interval& interval : feed.intervals) {
        write_interval(json, base, interval);
    }
    json.end_array().end_object();
}

}  // namespace

std::string oracle_json(const OracleBase& base, const Feeds& feeds) {
    JsonWriter json;
    json.begin_object().key("format").value(1);
    json.key("base").begin_object();
    json.key("realtime_us").value(static_cast<std::int64_t>(base.wall_started.time_since_epoch().count()));
    json.key("monotonic_us");
    json.value(static_cast<std::int64_t>(
        std::chrono::floor<std::chrono::microseconds>(base.started.time_since_epoch()).count()));
    json.end_object();
    json.key("now_us").value(microseconds(base, base.now));
    json.key("rate").value(base.rate).key("message_bytes").value(static_cast<std::uint64_t>(base.message_bytes));
    json.key("unsent_bytes_max").value(static_cast<std::uint64_t>(base.unsent_max));
    json.key("ids").begin_object();
    for (const auto& [id, feed] : feeds) {
        json.key(id);
        write_feed(json, base, *feed);
    }
    json.end_object().end_object();
    return json.take();
}

std::string feed_json(const OracleBase& base, const Feed& feed) {
    JsonWriter json;
    write_feed(json, base, feed);
    return json.take();
}

}  // namespace longhold::mock
