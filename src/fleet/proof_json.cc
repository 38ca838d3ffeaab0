// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/json_text.h>
#include <longhold/fleet/proof.h>
#include <simdjson.h>

namespace longhold::fleet {
namespace {

namespace dom = simdjson::dom;

template <class T>
using Read = std::expected<T, std::string>;

std::unexpected<std::string> wrong(std::string_view where, std::string_view member, std::string_view wanted) {
    return std::unexpected(std::string{where}.append(": \"").append(member).append("\" is not ").append(wanted));
}

Read<dom::element> parse(dom::parser& parser, std::string_view json, std::string_view what) {
    dom::element document;
    if (const auto error = parser.parse(json.data(), json.size()).get(document); error != simdjson::SUCCESS) {
        return std::unexpected(std::string{what}.append(" is not JSON: ").append(simdjson::error_message(error)));
    }
    return document;
}

template <class T>
Read<T> member(dom::element object, std::string_view where, std::string_view name, std::string_view wanted) {
    T value{};
    if (object[name].get(value) != simdjson::SUCCESS) {
        return wrong(where, name, wanted);
    }
    return value;
}

Read<std::uint64_t> number(dom::element object, std::string_view where, std::string_view name) {
    return member<std::uint64_t>(object, where, name, "a whole number");
}

Read<std::int64_t> time(dom::element object, std::string_view where, std::string_view name) {
    return member<std::int64_t>(object, where, name, "a time in whole microseconds");
}

Read<OracleSocket> read_socket(dom::element json, std::string_view where) {
    OracleSocket socket;
    const auto opened = time(json, where, "opened_at_us");
    if (!opened) {
        return std::unexpected(opened.error());
    }
    socket.opened_at_us = *opened;
    dom::element closed;
    if (json["closed_at_us"].get(closed) != simdjson::SUCCESS) {
        return wrong(where, "closed_at_us", "a time or null");
    }
    if (!closed.is_null()) {
        const auto at = time(json, where, "closed_at_us");
        if (!at) {
            return std::unexpected(at.error());
        }
        socket.closed_at_us = *at;
    }
    const auto sent = member<dom::array>(json, where, "sent", "an array");
    if (!sent) {
        return std::unexpected(sent.error());
    }
    for (const dom::element part : *sent) {
        const auto stream = number(part, where, "stream");
        const auto first = number(part, where, "first");
        if (!stream || !first) {
            return std::unexpected(stream ? first.error() : stream.error());
        }
        socket.firsts.emplace_back(static_cast<std::uint32_t>(*stream), *first);
    }
    return socket;
}

Read<OracleId> read_id(dom::element json, std::string_view where) {
    OracleId id;
    const auto streams = member<dom::array>(json, where, "streams", "an array");
    const auto sockets = member<dom::array>(json, where, "sockets", "an array");
    if (!streams || !sockets) {
        return std::unexpected(streams ? sockets.error() : streams.error());
    }
    for (const dom::element stream : *streams) {
        const auto head = number(stream, where, "head");
        if (!head) {
            return std::unexpected(head.error());
        }
        id.heads.push_back(*head);
    }
    for (const dom::element json_socket : *sockets) {
        auto socket = read_socket(json_socket, where);
        if (!socket) {
            return std::unexpected(socket.error());
        }
        id.sockets.push_back(std::move(*socket));
    }
    return id;
}

Read<Harm> read_harm(dom::element json, HarmKind kind, std::int64_t at_us) {
    const auto worker = member<std::string_view>(json, "event", "worker", "a string");
    const auto session = member<std::string_view>(json, "event", "session", "a string");
    const auto connections = member<dom::array>(json, "event", "connections", "an array");
    if (!worker || !session || !connections) {
        return std::unexpected(!worker ? worker.error() : !session ? session.error() : connections.error());
    }
    Harm harm{.at_us = at_us,
              .kind = kind,
              .worker = std::string{*worker},
              .session = std::string{*session},
              .connections = {}};
    for (const dom::element connection : *connections) {
        std::string_view id;
        if (connection.get(id) != simdjson::SUCCESS) {
            return wrong("event", "connections", "an array of strings");
        }
        harm.connections.emplace_back(id);
    }
    return harm;
}

Read<Stop> read_stop(dom::element json, std::int64_t at_us) {
    Stop stop{.at_us = at_us, .heads = {}};
    const auto heads = member<dom::object>(json, "stop", "heads", "an object");
    if (!heads) {
        return std::unexpected(heads.error());
    }
    for (const auto& [id, head] : *heads) {
        const auto stream = number(head, id, "stream");
        const auto seq = number(head, id, "seq");
        if (!stream || !seq) {
            return std::unexpected(stream ? seq.error() : stream.error());
        }
        stop.heads.emplace(id, StreamHead{static_cast<std::uint32_t>(*stream), *seq});
    }
    return stop;
}

void write_spread(JsonWriter& json, std::string_view name, const Spread& spread) {
    json.key(name).begin_object();
    for (const auto& [percentile, value] :
         {std::pair{"p50", spread.p50_us}, std::pair{"p99", spread.p99_us}, std::pair{"max", spread.max_us}}) {
        json.key(percentile);
        if (spread.count == 0) {
            json.null();
        } else {
            json.value(static_cast<double>(value) / 1000);
        }
    }
    json.key("count").value(spread.count).end_object();
}

}  // namespace

std::string proof_json(const ProofResult& result, int indent) {
    JsonWriter json{indent};
    json.begin_object();
    json.key("connections").value(result.connections).key("delivered").value(result.delivered);
    json.key("lost").value(result.lost).key("redelivered").value(result.redelivered).key("late").value(result.late);
    json.key("overlaps").value(result.overlaps).key("unknown").value(result.unknown);
    json.key("unrecovered").value(result.unrecovered);
    write_spread(json, "crash_recovery_ms", result.crash_recovery);
    write_spread(json, "handover_gap_ms", result.handover_gap);
    json.key("proof");
    if (result.holds()) {
        json.value("ok");
    } else {
        json.begin_array();
        for (const std::string& failure : result.failures) {
            json.value(failure);
        }
        json.end_array();
    }
    return json.end_object().take();
}

std::expected<Oracle, std::string> parse_oracle(std::string_view json) {
    dom::parser parser;
    const auto document = parse(parser, json, "the oracle's document");
    if (!document) {
        return std::unexpected(document.error());
    }
    const auto ids = member<dom::object>(*document, "the oracle's document", "ids", "an object");
    if (!ids) {
        return std::unexpected(ids.error());
    }
    Oracle oracle;
    for (const auto& [name, value] : *ids) {
        auto id = read_id(value, name);
        if (!id) {
            return std::unexpected(id.error());
        }
        oracle.emplace(name, std::move(*id));
    }
    return oracle;
}

std::expected<RunEvents, std::string> parse_events(std::string_view json) {
    dom::parser parser;
    const auto document = parse(parser, json, "the list of events");
    if (!document) {
        return std::unexpected(document.error());
    }
    dom::array list;
    if (document->get(list) != simdjson::SUCCESS) {
        return std::unexpected("the list of events is not an array");
    }
    RunEvents events;
    int stops = 0;
    for (const dom::element event : list) {
        const auto at = time(event, "event", "at_us");
        const auto kind = member<std::string_view>(event, "event", "kind", "a string");
        if (!at || !kind) {
            return std::unexpected(at ? kind.error() : at.error());
        }
        if (*kind == "stop") {
            auto stop = read_stop(event, *at);
            if (!stop) {
                return std::unexpected(stop.error());
            }
            events.stop = std::move(*stop);
            ++stops;
        } else if (*kind == "kill" || *kind == "drain") {
            auto harm = read_harm(event, *kind == "kill" ? HarmKind::kill : HarmKind::drain, *at);
            if (!harm) {
                return std::unexpected(harm.error());
            }
            events.harms.push_back(std::move(*harm));
        } else {
            return wrong("event", "kind", "kill, drain or stop");
        }
    }
    if (stops != 1) {
        return std::unexpected("the list of events has not exactly one stop");
    }
    return events;
}

std::map<std::string, StreamHead, std::less<>> heads_of(const Oracle& oracle) {
    std::map<std::string, StreamHead, std::less<>> heads;
    for (const auto& [id, witness] : oracle) {
        if (!witness.heads.empty()) {
            heads.emplace(id, StreamHead{static_cast<std::uint32_t>(witness.heads.size()), witness.heads.back()});
        }
    }
    return heads;
}

std::string events_json(const RunEvents& events) {
    JsonWriter json{1};
    json.begin_array();
    for (const Harm& harm : events.harms) {
        json.begin_object().key("at_us").value(harm.at_us);
        json.key("kind").value(harm.kind == HarmKind::kill ? "kill" : "drain");
        json.key("worker").value(harm.worker).key("session").value(harm.session).key("connections").begin_array();
        for (const std::string& id : harm.connections) {
            json.value(id);
        }
        json.end_array().end_object();
    }
    json.begin_object().key("at_us").value(events.stop.at_us).key("kind").value("stop").key("heads").begin_object();
    for (const auto& [id, head] : events.stop.heads) {
        json.key(id).begin_object().key("stream").value(head.stream).key("seq").value(head.seq).end_object();
    }
    json.end_object().end_object().end_array();
    return json.take() + '\n';
}

}  // namespace longhold::fleet
