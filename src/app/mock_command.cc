// SPDX-License-Identifier: Apache-2.0
// `longhold mock-upstream`.
#include <longhold/config/byte_size.h>
#include <longhold/mock/mock_upstream.h>
#include <longhold/runtime/listen_address.h>
#include <longhold/upstream/descriptor_limit.h>

#include <charconv>
#include <cmath>
#include <optional>
#include <sstream>

#include "command_settings.h"
#include "commands.h"
#include "console_stream.h"
#include "stop_signals.h"

namespace longhold::app {
namespace {

constexpr std::string_view details =
    "Each id has a sequence that counts from 1 at the rate, whether or not anyone listens.\n"
    "\n"
    "HTTP on the same port (ID may be a glob where faults are set: * is any text, %3F any one character):\n"
    "  GET    /feed/ID[?cursor=N]       upgrade; sends {\"seq\":N,\"sent_at\":\"...\"}, replaying what follows the "
    "cursor\n"
    "  POST   /faults/ID?NAME[=VALUE]&… set faults at once; DELETE removes those named, or all\n"
    "  GET    /oracle[/ID]              what really happened: sockets, what each was sent, when it ended\n"
    "  GET    /livez\n"
    "  curl -X POST 'http://127.0.0.1:9000/faults/a?drop&after=5'; curl http://127.0.0.1:9000/oracle/a\n"
    "\n"
    "Faults, as NAME[=VALUE] with modifiers behind: after=N (messages a socket gets first), times=N (0: for ever)\n"
    "  until removed:  mute, half_open, refuse_second, slow=BYTES_PER_SECOND, one_byte, binary\n"
    "  happening:      status=HTTP_STATUS[,retry_after=SECONDS], close=CODE, drop, oversize=BYTES,\n"
    "                  garbage[=reserved_bit|opcode|masked|text|long_ping], restart_sequence[=in_place|drop]";

constexpr std::string_view examples =
    "longhold mock-upstream --listen 127.0.0.1:9000 --rate 5\n"
    "longhold mock-upstream --fault 'flaky-*:close=1001,after=10,times=3' --fault 'locked:status=401'\n"
    "longhold profile try 'ws://127.0.0.1:9000/feed/a' --set sequence.field=/seq --messages 3";

// Prints what is wrong with an option's value.
void refuse(Context& context, std::string what, const std::string& option, std::string remedy) {
    print_problem(context.console, {.what = std::move(what), .where = "--" + option, .remedy = std::move(remedy)});
}

bool set_listen(const Arguments& arguments, Context& context, mock::MockOptions& options) {
    const auto listen = runtime::parse_host_port(arguments.last("listen").value_or("127.0.0.1:0"));
    if (!listen) {
        refuse(context, listen.error(), "listen", "write it like 127.0.0.1:9000; port 0 takes a free one");
        return false;
    }
    options.address = listen->host == "localhost" ? "127.0.0.1" : listen->host;
    options.port = listen->port;
    return true;
}

bool set_rate(const Arguments& arguments, Context& context, mock::MockOptions& options) {
    const auto text = arguments.last("rate");
    if (!text) {
        return true;
    }
    const char* const end = text->data() + text->size();
    const auto [stopped, failure] = std::from_chars(text->data(), end, options.rate);
    if (failure != std::errc{} || stopped != end || !(options.rate >= 0 && std::isfinite(options.rate))) {
        refuse(context, "\"" + *text + "\" is no number of messages per second", "rate",
               "give a number from 0, such as 20 or 0.5");
        return false;
    }
    return true;
}

bool set_size(const Arguments& arguments, Context& context, mock::MockOptions& options) {
    const auto text = arguments.last("size");
    if (!text) {
        return true;
    }
    const auto size = config::parse_byte_size(*text);
    if (!size) {
        refuse(context, size.error(), "size", "give a number of bytes, such as 200 or 4KiB");
        return false;
    }
    options.message_bytes = size->bytes;
    return true;
}

bool set_faults(const Arguments& arguments, Context& context, mock::MockOptions& options) {
    for (const auto& text : arguments.all("fault")) {
        auto rule = mock::parse_fault_rule(text);
        if (!rule) {
            refuse(context, rule.error(), "fault", "see `longhold mock-upstream --help`");
            return false;
        }
        options.faults.push_back(std::move(*rule));
    }
    return true;
}

std::optional<mock::MockOptions> options_of(const Arguments& arguments, Context& context) {
    mock::MockOptions options;
    options.all_from_start = arguments.has("all-from-start");
    const bool sound = set_listen(arguments, context, options) && set_rate(arguments, context, options) &&
                       set_size(arguments, context, options) && set_faults(arguments, context, options);
    return sound ? std::optional{std::move(options)} : std::nullopt;
}

ExitCode serve_mock(const Arguments& arguments, Context& context) {
    const auto options = options_of(arguments, context);
    if (!options) {
        return ExitCode::usage;
    }
    upstream::raise_descriptor_limit();
    const StopSignals signals;
    ConsoleStream output{context.console};
    std::ostringstream errors;
    const int code = mock::run_mock_upstream(*options, context.clock, output.stream(), errors, signals.descriptor());
    if (code == 0) {
        return ExitCode::done;
    }
    constexpr std::string_view prefix = "mock-upstream: ";
    std::string what = errors.str();
    what.erase(0, what.starts_with(prefix) ? prefix.size() : 0);
    what.erase(what.find_last_not_of('\n') + 1);
    print_problem(context.console, {.what = std::move(what),
                                    .where = "mock-upstream",
                                    .remedy = "correct the option, or take another address or port"});
    return static_cast<ExitCode>(code);
}

}  // namespace

Registry mock_commands() {
    return {{.path = "mock-upstream",
             .summary = "Serve feeds that misbehave on demand, with an oracle of what happened, until a signal",
             .examples = std::string{examples},
             .details = std::string{details},
             .options = {{.name = "listen",
                          .value = "ADDRESS:PORT",
                          .help = "IPv4 address and port; 127.0.0.1:0, a free port, is the default"},
                         {.name = "rate", .value = "NUMBER", .help = "messages per second of each id (20)"},
                         {.name = "size", .value = "BYTES", .help = "pad messages to this size"},
                         {.name = "all-from-start",
                          .help = "count from the server's start, not from the first request for an id"},
                         {.name = "fault",
                          .value = "GLOB:SPEC",
                          .help = "faults of ids from the start, such as 'a*:drop,after=9'",
                          .repeats = true}},
             .run = serve_mock}};
}

}  // namespace longhold::app
