// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/invariant.h>
#include <longhold/base/json_text.h>
#include <longhold/core/notes.h>

#include <utility>

namespace longhold::core {
namespace {

std::string reason_member(NoteReason reason) {
    std::string members = R"("reason":)";
    append_json_string(members, text(reason));
    return members;
}

void append_member(std::string& members, std::string_view name, std::string_view value) {
    members += ',';
    append_json_string(members, name);
    members += ':';
    append_json_string(members, value);
}

}  // namespace

std::string_view text(NoteReason reason) {
    switch (reason) {
        case NoteReason::claimed:
            return "claimed";
        case NoteReason::sequence_hole:
            return "sequence_hole";
        case NoteReason::sequence_restart:
            return "sequence_restart";
        case NoteReason::no_replay:
            return "no_replay";
        case NoteReason::no_cursor:
            return "no_cursor";
        case NoteReason::spec_change:
            return "spec_change";
        case NoteReason::dropped:
            return "dropped";
        case NoteReason::unacked:
            return "unacked";
    }
    std::unreachable();
}

Note gap_note(NoteReason reason, std::uint32_t stream, std::optional<std::string_view> from,
              std::optional<std::string_view> to) {
    std::string members = reason_member(reason);
    if (from) {
        append_member(members, "from", *from);
    }
    if (to) {
        append_member(members, "to", *to);
    }
    return {.kind = NoteKind::gap, .reason = reason, .stream = stream, .members = std::move(members)};
}

Note state_note(NoteReason reason, std::uint32_t stream) {
    invariant(reason != NoteReason::claimed, "a claimed record names its resume point");
    return {.kind = NoteKind::state, .reason = reason, .stream = stream, .members = reason_member(reason)};
}

Note claimed_note(std::uint32_t stream, const std::optional<Cursor>& resume_point) {
    JsonWriter resume;
    if (resume_point) {
        resume.begin_object();
        resume.key("epoch").value(resume_point->epoch.value);
        resume.key("ordinal").value(resume_point->ordinal);
        resume.key("stream").value(resume_point->stream);
        resume.key("value").value(resume_point->value);
        resume.end_object();
    } else {
        resume.null();
    }
    return {.kind = NoteKind::state,
            .reason = NoteReason::claimed,
            .stream = stream,
            .members = reason_member(NoteReason::claimed) + R"(,"resume":)" + resume.text()};
}

}  // namespace longhold::core
