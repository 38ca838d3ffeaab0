// SPDX-License-Identifier: Apache-2.0
#include "connection_rows.h"

#include <longhold/base/json_text.h>
#include <longhold/base/wall_time_text.h>
#include <longhold/config/names.h>

#include <algorithm>

namespace longhold::app {
namespace {

constexpr std::uint64_t page_rows_max = 500;

void write_labels(JsonWriter& writer, const core::Labels& labels) {
    writer.key("labels").begin_object();
    for (const auto& [key, value] : labels) {
        writer.key(key).value(value);
    }
    writer.end_object();
}

void write_cursor(JsonWriter& writer, const std::optional<core::Cursor>& cursor) {
    writer.key("cursor");
    if (!cursor) {
        writer.null();
        return;
    }
    writer.begin_object();
    writer.key("sequence_id").value(cursor->sequence_id);
    writer.key("epoch").value(cursor->epoch.value);
    writer.key("ordinal").value(cursor->ordinal);
    writer.key("stream").value(cursor->stream);
    writer.key("value").value(cursor->value);
    writer.end_object();
}

}  // namespace

runtime::Task<store::Result<Workers>> read_workers(store::Store& store, Context& context) {
    auto sessions = co_await store.list_sessions(store_deadline(context));
    if (!sessions) {
        co_return std::unexpected(std::move(sessions.error()));
    }
    Workers workers;
    for (const auto& session : *sessions) {
        workers.emplace(session.id.text(), session.worker_id.text());
    }
    co_return workers;
}

std::string row_json(const core::ConnectionRow& row, const Workers* workers) {
    JsonWriter writer;
    writer.begin_object();
    writer.key("id").value(row.id.text());
    write_labels(writer, row.labels);
    writer.key("spec").raw(row.spec);
    writer.key("spec_revision").value(row.spec_revision);
    writer.key("desired_state").value(core::text(row.desired));
    writer.key("owner");
    if (row.owner.is_session()) {
        writer.value(row.owner.session_id().text());
    } else {
        writer.null();
    }
    if (workers != nullptr) {
        writer.key("worker");
        const auto found = row.owner.is_session() ? workers->find(row.owner.session_id().text()) : workers->end();
        if (found != workers->end()) {
            writer.value(found->second);
        } else {
            writer.null();
        }
    }
    writer.key("epoch").value(row.epoch.value);
    write_cursor(writer, row.cursor);
    writer.key("updated_at").value(format_rfc3339(row.updated_at));
    writer.end_object();
    return writer.take();
}

std::string row_document(const core::ConnectionRow& row) {
    JsonWriter writer;
    writer.begin_object();
    writer.key("id").value(row.id.text());
    write_labels(writer, row.labels);
    writer.key("spec").raw(row.spec);
    writer.key("desired_state").value(core::text(row.desired));
    writer.end_object();
    return writer.take();
}

std::string labels_text(const core::Labels& labels) {
    std::string out;
    for (const auto& [key, value] : labels) {
        out += (out.empty() ? "" : ",") + key + "=" + value;
    }
    return out.empty() ? "-" : out;
}

std::string owner_text(const core::ConnectionRow& row, const Workers& workers) {
    if (!row.owner.is_session()) {
        return "-";
    }
    const std::string session = row.owner.session_id().text();
    const auto found = workers.find(session);
    return found == workers.end() ? session : found->second + " (" + session + ")";
}

std::string cursor_text(const core::ConnectionRow& row) {
    if (!row.cursor) {
        return "-";
    }
    return std::to_string(row.cursor->epoch.value) + "/" + std::to_string(row.cursor->ordinal) +
           (row.cursor->value.empty() ? "" : " " + row.cursor->value);
}

std::optional<core::Labels> labels_of(const Arguments& arguments, std::string_view option, Context& context) {
    core::Labels labels;
    bool good = true;
    for (const auto& text : arguments.all(option)) {
        auto label = config::parse_label(text);
        if (label) {
            labels[label->first] = label->second;
            continue;
        }
        const auto split = label.error().rfind("; ");
        print_problem(context.console, {.what = label.error().substr(0, split),
                                        .where = "--" + std::string{option},
                                        .remedy = label.error().substr(split + 2)});
        good = false;
    }
    return good ? std::optional{std::move(labels)} : std::nullopt;
}

runtime::Task<store::Result<void>> for_each_row(store::Store& store, Context& context, core::Labels selector,
                                                std::uint64_t limit, PageReceiver receiver) {
    ConnectionId after;
    while (limit > 0 && context.console.broken() == 0) {
        const auto rows_max = static_cast<std::uint32_t>(std::min(limit, page_rows_max));
        auto page = co_await store.list_connections(selector, false, after, rows_max, store_deadline(context));
        if (!page) {
            co_return std::unexpected(std::move(page.error()));
        }
        receiver(page->rows);
        if (!page->more || page->rows.empty()) {
            break;
        }
        limit -= page->rows.size();
        after = page->rows.back().id;
    }
    co_return store::Result<void>{};
}

}  // namespace longhold::app
