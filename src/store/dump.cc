// SPDX-License-Identifier: Apache-2.0
#include "dump.h"

#include <longhold/base/json_text.h>
#include <longhold/base/wall_time_text.h>

#include <chrono>
#include <optional>

#include "row_text.h"

namespace longhold::store {
namespace {

std::int64_t milliseconds(Duration duration) {
    return std::int64_t{std::chrono::duration_cast<std::chrono::milliseconds>(duration).count()};
}

// A member whose value is any text.
void member(JsonWriter& writer, std::string_view key, std::string_view text) {
    writer.key(key).value(std::string_view{as_utf8(text)});
}

void write(JsonWriter& writer, const core::SessionRow& row) {
    writer.begin_object();
    member(writer, "id", row.id.text());
    member(writer, "worker_id", row.worker_id.text());
    writer.key("counter").value(row.counter);
    member(writer, "attempt", row.attempt.text());
    writer.key("lease_ms").value(milliseconds(row.lease));
    writer.key("heartbeat_every_ms").value(milliseconds(row.heartbeat_every));
    writer.key("state").value(core::text(row.state));
    writer.key("drain_requested").value(row.drain_requested);
    writer.key("capacity").value(row.capacity);
    writer.key("load").value(row.load);
    writer.key("generation").value(row.generation);
    member(writer, "version", row.version);
    member(writer, "zone", row.zone);
    member(writer, "address", row.address);
    writer.end_object();
}

void write(JsonWriter& writer, const std::optional<core::Cursor>& cursor) {
    if (!cursor) {
        writer.null();
        return;
    }
    writer.begin_object();
    writer.key("sequence_id").value(cursor->sequence_id);
    writer.key("epoch").value(cursor->epoch.value);
    writer.key("ordinal").value(cursor->ordinal);
    writer.key("stream").value(cursor->stream);
    member(writer, "value", cursor->value);
    writer.end_object();
}

void write(JsonWriter& writer, const core::ConnectionRow& row) {
    writer.begin_object();
    member(writer, "id", row.id.text());
    writer.key("labels").begin_object();
    for (const auto& [key, value] : row.labels) {
        member(writer, as_utf8(key), value);
    }
    writer.end_object();
    if (is_json(row.spec)) {
        writer.key("spec").raw(row.spec);
    } else {
        member(writer, "spec", row.spec);
    }
    writer.key("spec_revision").value(row.spec_revision);
    writer.key("desired_state").value(core::text(row.desired));
    member(writer, "owner", row.owner.text());
    writer.key("epoch").value(row.epoch.value);
    member(writer, "attempt", row.attempt.text());
    member(writer, "phase", row.phase);
    member(writer, "offer", row.offer);
    writer.key("cursor");
    write(writer, row.cursor);
    writer.key("stability").value(row.stability);
    writer.key("updated_at").value(std::string_view{format_rfc3339(row.updated_at)});
    writer.end_object();
}

void write(JsonWriter& writer, const core::CursorPage& page) {
    writer.begin_object();
    member(writer, "session", page.session.text());
    writer.key("number").value(page.number);
    writer.key("entries").begin_array();
    for (const core::CursorEntry& entry : page.entries) {
        writer.begin_object();
        member(writer, "id", entry.id.text());
        writer.key("cursor");
        write(writer, std::optional{entry.cursor});
        writer.end_object();
    }
    writer.end_array().end_object();
}

template <class Row>
void write_all(JsonWriter& writer, std::string_view key, const std::vector<Row>& rows) {
    writer.key(key).begin_array();
    for (const Row& row : rows) {
        write(writer, row);
    }
    writer.end_array();
}

}  // namespace

std::string dump_text(std::string_view ns, const StoreInfo& info, const std::vector<core::SessionRow>& sessions,
                      const std::vector<core::ConnectionRow>& connections, const std::vector<core::CursorPage>& pages) {
    JsonWriter writer{1};
    writer.begin_object();
    writer.key("schema_version").value(info.schema_version);
    writer.key("min_compatible_version").value(info.min_compatible_version);
    writer.key("namespace").value(ns);
    writer.key("buckets").value(info.buckets);
    writer.key("epoch_floor").value(info.epoch_floor);
    write_all(writer, "sessions", sessions);
    write_all(writer, "connections", connections);
    write_all(writer, "cursor_pages", pages);
    writer.end_object();
    return writer.take() + "\n";
}

}  // namespace longhold::store
