// SPDX-License-Identifier: Apache-2.0
// `longhold profile try`.
#include <longhold/config/connection_spec.h>
#include <longhold/config/text_template.h>
#include <longhold/runtime/event.h>
#include <longhold/runtime/signals.h>
#include <longhold/upstream/profile_options.h>
#include <longhold/worker/sequence_rule.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "command_settings.h"
#include "commands.h"
#include "printable.h"
#include "profile_try_failure.h"
#include "profile_try_printer.h"
#include "run_on_loop.h"
#include "spec_sets.h"

namespace longhold::app {
namespace {

using runtime::Task;

// What {connection_id} stands for.
constexpr std::string_view connection_id = "try";
constexpr std::uint16_t close_code_done = 1000;
constexpr double seconds_max = 1e9;

// What is to be tried, and until when.
struct Plan {
    std::string where;  // the URL without its query, which may have secrets
    upstream::ConnectionOptions options;
    std::vector<std::string> opening;
    TryPrinterOptions printing;
    std::optional<std::uint64_t> messages_max;
    std::optional<Duration> lasts;
    std::optional<std::string> seconds_text;  // as it was given
};

// ---- the plan -------------------------------------------------------------------------------------------------------

// The value of --`option` as a number from `least`; `sound` turns false after printing what is wrong.
template <class Number>
std::optional<Number> number_of(const Arguments& arguments, Context& context, const std::string& option, Number least,
                                Number most, const std::string& remedy, bool& sound) {
    const auto text = arguments.last(option);
    if (!text) {
        return std::nullopt;
    }
    Number number{};
    const char* const end = text->data() + text->size();
    const auto [stopped, failure] = std::from_chars(text->data(), end, number);
    if (failure == std::errc{} && stopped == end && number >= least && number <= most) {
        return number;
    }
    sound = false;
    print_problem(context.console,
                  {.what = "\"" + *text + "\" is no number that fits", .where = "--" + option, .remedy = remedy});
    return std::nullopt;
}

std::optional<config::ResolvedProfile> resolve(const Arguments& arguments, Context& context, const std::string& url) {
    const auto settings = load_command_settings(arguments, context, false);
    if (!settings) {
        return std::nullopt;
    }
    const auto profiles = load_command_profiles(*settings, context);
    std::vector<std::string> sets{"url=" + url};
    if (const auto profile = arguments.last("profile")) {
        sets.push_back("profile=" + *profile);
    }
    std::ranges::copy(arguments.all("set"), std::back_inserter(sets));
    const auto json = spec_with_sets({}, sets, context);
    if (!profiles || !json) {
        return std::nullopt;
    }
    const std::string source = "command line";
    const auto spec = config::parse_spec(*json, source);
    if (!spec) {
        print_problems(context.console, spec.error());
        return std::nullopt;
    }
    auto resolved = config::resolve_profile(
        *spec, *profiles, {.environment = context.environment, .read_file = context.read_file}, source);
    if (!resolved) {
        print_problems(context.console, resolved.error());
        return std::nullopt;
    }
    return std::move(*resolved);
}

// Whether the profile has a place for a cursor.
bool takes_cursor(const config::Profile& profile) {
    return profile.can_resume() || std::ranges::any_of(profile.open.send, [](const std::string& text) {
               return config::TextTemplate{text}.uses("cursor");
           });
}

std::optional<Plan> plan_of(const Arguments& arguments, Context& context) {
    bool sound = true;
    Plan plan;
    plan.messages_max = number_of<std::uint64_t>(arguments, context, "messages", 1, UINT64_MAX,
                                                 "give a whole number of messages from 1", sound);
    const auto seconds = number_of<double>(arguments, context, "seconds", 1e-3, seconds_max,
                                           "give a number of seconds, such as 10 or 0.5", sound);
    const std::string url = arguments.last("URL").value_or("");
    const auto resolved = resolve(arguments, context, url);
    if (!resolved || !sound) {
        return std::nullopt;
    }
    if (seconds) {
        plan.lasts = std::chrono::duration_cast<Duration>(std::chrono::duration<double>{*seconds});
        plan.seconds_text = arguments.last("seconds");
    }
    const auto cursor = arguments.last("cursor");
    if (cursor && !takes_cursor(resolved->profile)) {
        print_problem(context.console,
                      {.what = "nothing that is sent has a place for a cursor",
                       .where = "--cursor",
                       .remedy = "say how to resume, such as with --set resume.query=cursor, or leave --cursor out"});
        return std::nullopt;
    }
    plan.where = url.substr(0, url.find('?'));
    auto options = upstream::options_for(*resolved, connection_id, cursor);
    if (!options) {
        print_problem(context.console, {.what = options.error(), .where = plan.where, .remedy = "correct the URL"});
        return std::nullopt;
    }
    plan.options = std::move(*options);
    plan.opening = config::opening_messages(*resolved, connection_id, cursor);
    plan.printing = {.rule = worker::sequence_rule_of(resolved->profile),
                     .sequence_field = resolved->profile.sequence.field,
                     .cursor = cursor,
                     .ndjson = arguments.last("o") == "ndjson"};
    return plan;
}

// ---- the attempt ----------------------------------------------------------------------------------------------------

// One connection from its dial to its end. Lives on the loop that it makes.
class Attempt final : public upstream::Receiver {
public:
    Attempt(Plan plan, Context& context)
        : plan_(std::move(plan)),
          context_(context),
          printer_(plan_.printing, context.console, context.clock),
          connection_({loop_, buffer_, tls_, sockets_, 0, entropy_}, plan_.options) {}

    ExitCode run() { return run_on_loop(loop_, dial_and_print()); }

    void on_stage(upstream::Stage stage, std::string_view detail) override { printer_.stage(stage, detail); }

    void on_open() override {
        printer_.opened(connection_.subprotocol());
        std::size_t bytes = 0;
        for (const auto& message : plan_.opening) {
            bytes += message.size();
            if (!connection_.send_text(message)) {
                unsendable_ = true;
                connection_.abort();
                return;
            }
        }
        printer_.sent(plan_.opening.size(), bytes);
        if (plan_.lasts) {
            timers_.spawn(stop_at(context_.clock.now() + *plan_.lasts));
        }
    }

    bool on_message(upstream::Message message) override {
        if (!why_.empty()) {
            return true;  // only the peer's close is waited for
        }
        printer_.message(message);
        if (plan_.messages_max && printer_.messages() >= *plan_.messages_max) {
            stop("--messages " + std::to_string(*plan_.messages_max) + " reached");
        }
        return true;
    }

    void on_burst_end() override {
        printer_.flush();
        if (context_.console.broken() != 0) {
            stop("the output's reader has left");
        }
    }

private:
    Task<ExitCode> dial_and_print() {
        runtime::Signals signals{loop_,
                                 {.on_stop = [this](int) { interrupt(); }, .on_reload = [this] { interrupt(); }}};
        const upstream::Ended ended = co_await connection_.run(*this);
        timers_.stop();
        co_await timers_.join();
        co_return conclude(ended);
    }

    Task<> stop_at(Instant deadline) {
        co_await runtime::sleep_until(loop_, deadline);
        stop("--seconds " + *plan_.seconds_text + " passed");
    }

    void interrupt() {
        if (why_.empty()) {
            stop("interrupted");
        } else {
            connection_.abort();
        }
    }

    void stop(std::string why) {
        if (why_.empty()) {
            why_ = std::move(why);
            connection_.close(close_code_done, {});
        }
    }

    ExitCode conclude(const upstream::Ended& ended) {
        printer_.flush();
        if (!ended.opened && !why_.empty()) {
            print_problem(context_.console, {.what = why_ + " before the connection was open",
                                             .where = plan_.where,
                                             .remedy = "give it more time"});
            return ExitCode::failed;
        }
        const bool normal = !why_.empty() || (ended_normally(ended) && !unsendable_);
        if (normal) {
            printer_.say(why_.empty()
                             ? "closed by the server: " + close_text(ended)
                             : "closed: " + why_ + (ended.detail.empty() ? "" : "; " + printable(ended.detail)));
        }
        if (ended.opened) {
            printer_.summary();
        }
        if (normal) {
            return ExitCode::done;
        }
        context_.console.write_error(refusal_text(ended));
        print_problem(context_.console,
                      unsendable_ ? config::Problem{.what = "the opening messages are more than may wait to be sent",
                                                    .where = plan_.where,
                                                    .remedy = "make open.send and resume.message smaller"}
                                  : problem_of(ended, plan_.where));
        return ExitCode::failed;
    }

    const Plan plan_;
    Context& context_;
    runtime::Loop loop_{context_.clock};
    upstream::SharedReadBuffer buffer_;
    upstream::TlsContexts tls_;
    runtime::AbortTable sockets_{1};
    upstream::SystemEntropy entropy_;
    runtime::TaskGroup timers_{loop_};
    TryPrinter printer_;
    upstream::Connection connection_;
    std::string why_;  // we end it; empty while we do not
    bool unsendable_ = false;
};

ExitCode try_profile(const Arguments& arguments, Context& context) {
    auto plan = plan_of(arguments, context);
    return plan ? Attempt{std::move(*plan), context}.run() : ExitCode::usage;
}

}  // namespace

Registry profile_try_commands() {
    auto options = settings_options();
    options.pop_back();  // --set is the profile's here
    options.push_back({.name = "profile", .value = "NAME", .help = "the profile to connect with (plain)"});
    options.push_back({.name = "set",
                       .value = "PATH=VALUE",
                       .help = "one key of the spec, above the profile, such as sequence.field=/seq",
                       .repeats = true});
    options.push_back({.name = "cursor", .value = "VALUE", .help = "resume from here, in the way the profile says"});
    options.push_back({.name = "messages", .value = "NUMBER", .help = "end after so many messages"});
    options.push_back({.name = "seconds", .value = "NUMBER", .help = "end so long after the connection opened"});
    options.push_back({.name = "o",
                       .value = "FORMAT",
                       .help = "text (messages as they are; bytes as base64:…) or ndjson (one object each)",
                       .choices = {"text", "ndjson"}});
    return {{.path = "profile try",
             .summary = "Connect to one URL with a profile, and print what arrives",
             .examples =
                 "longhold profile try wss://feed.example/ws --messages 5\n"
                 "longhold profile try wss://feed.example/ws --set sequence.field=/seq --set resume.query=since "
                 "--cursor 1200\n"
                 "longhold profile try wss://feed.example/ws --set 'headers.Authorization=Bearer ${env:TOKEN}' "
                 "--seconds 10 -o ndjson",
             .details = "Messages go to standard output; stages, gaps, how it ended and a summary to standard error.\n"
                        "Exits with 0 when the connection opened and was ended by you, --messages, --seconds or a "
                        "normal close;\nwith 1 when it did not open or was lost. Ctrl-C closes, twice resets.",
             .positionals = {{.name = "URL", .help = "ws:// or wss://"}},
             .options = std::move(options),
             .run = try_profile}};
}

}  // namespace longhold::app
