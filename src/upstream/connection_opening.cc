// SPDX-License-Identifier: Apache-2.0
// The attempt: dial, upgrade request, answer.
#include <longhold/base/duration_text.h>

#include <utility>

#include "connection_state.h"
#include "dial.h"

namespace longhold::upstream {
namespace {

// How long the body of a refusal is waited for: it only explains.
constexpr Duration refusal_body_wait = std::chrono::seconds{1};

}  // namespace

runtime::Task<> ConnectionState::open_up() {
    const Instant deadline = waker_.now() + options_->attempt_timeout;
    auto request = build_request(options_->url, options_->headers, options_->subprotocols, shared_.entropy);
    if (!request) {
        end(EndReason::handshake_refused, "the upgrade request cannot be built: " + request.error());
        co_return;
    }
    auto transport =
        co_await dial(Dialler{shared_, *options_, waker_, *receiver_, weak_from_this(), given_up_}, deadline);
    if (ended()) {
        co_return;
    }
    if (!transport) {
        end(transport.error().reason, std::move(transport.error().detail));
        co_return;
    }
    transport_ = std::move(*transport);
    const bool sent = co_await send_request(std::move(request->bytes), deadline);
    if (sent) {
        co_await read_answer(
            HandshakeReader{std::move(request->key), options_->subprotocols, options_->subprotocol_required}, deadline);
    }
}

runtime::Task<bool> ConnectionState::send_request(std::string request, Instant deadline) {
    std::string_view rest = request;
    while (!rest.empty()) {
        const IoResult result = transport_->write_now(rest);
        if (result.status == IoStatus::done) {
            traffic_.bytes_sent += result.bytes;
            rest.remove_prefix(result.bytes);
            continue;
        }
        if (result.status != IoStatus::would_block) {
            end(EndReason::transport_lost, "the upgrade request could not be sent: " + transport_->failure());
            co_return false;
        }
        if (waker_.now() >= deadline) {
            end(EndReason::attempt_timed_out,
                "the upgrade request was not taken within the attempt's " + format_duration(options_->attempt_timeout));
            co_return false;
        }
        transport_->await_writable();
        co_await waker_.wait_until(deadline);
        if (ended()) {
            co_return false;
        }
    }
    co_return true;
}

runtime::Task<> ConnectionState::read_answer(HandshakeReader reader, Instant deadline) {
    bool body_begun = false;
    while (take_answer(reader)) {
        if (reader.reading_body() && !body_begun) {
            body_begun = true;
            deadline = std::min(deadline, waker_.now() + refusal_body_wait);
        }
        if (waker_.now() >= deadline) {
            if (reader.reading_body()) {
                reader.finish({});
                take_refusal(reader, false);
            } else {
                end(EndReason::attempt_timed_out,
                    "the server did not answer the upgrade request within the attempt's " +
                        format_duration(options_->attempt_timeout));
            }
            co_return;
        }
        if (!std::exchange(read_armed_, true)) {
            transport_->await_readable();
        }
        co_await waker_.wait_until(deadline);
    }
}

// Reads what is there of the answer; true while more is needed.
bool ConnectionState::take_answer(HandshakeReader& reader) {
    const SharedReadBuffer::Use buffer{shared_.read_buffer};
    while (!ended()) {
        const IoResult result = transport_->read_now(buffer.bytes());
        if (result.status == IoStatus::would_block) {
            return true;
        }
        if (result.status != IoStatus::done) {
            const bool failed = result.status == IoStatus::failed;
            reader.finish(failed ? "the connection was lost (" + transport_->failure() + ")"
                                 : "the server ended the connection");
            take_refusal(reader, reader.answer().status == 0);
            return false;
        }
        received(result.bytes);
        const std::string_view bytes{buffer.bytes().data(), result.bytes};
        const HandshakeReader::State state = reader.feed(bytes);
        if (state == HandshakeReader::State::refused) {
            take_refusal(reader, false);
            return false;
        }
        if (state == HandshakeReader::State::accepted) {
            subprotocol_ = reader.answer().subprotocol;
            phase_ = Phase::open;
            receiver_->on_open();
            if (!ended()) {
                feed(bytes.substr(reader.used()));
                end_burst();
            }
            arm_read();
            return false;
        }
    }
    return false;
}

void ConnectionState::take_refusal(const HandshakeReader& reader, bool lost) {
    const HandshakeAnswer& answer = reader.answer();
    end(lost ? EndReason::transport_lost : EndReason::handshake_refused, answer.detail);
    ended_->http_status = answer.status;
    ended_->retry_after = retry_after(answer.headers, shared_.loop.clock().wall_now(), options_->retry_after_max);
    ended_->headers = answer.headers;
    ended_->body = answer.body;
}

}  // namespace longhold::upstream
