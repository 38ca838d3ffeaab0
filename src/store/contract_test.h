// SPDX-License-Identifier: Apache-2.0
// The one suite that every store passes. A store joins it by a StoreKind in contract_kinds_test.cc; the tests see the
// Store interface alone, and open further handles on the same data where several workers are meant.
#pragma once

#include <gtest/gtest.h>
#include <longhold/runtime/clock.h>
#include <longhold/runtime/loop.h>
#include <longhold/store/store.h>

#include <boost/asio/co_spawn.hpp>
#include <chrono>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace longhold::store::contract {

// Data that several handles share; ends with its data.
class StoreWorld {
public:
    virtual ~StoreWorld() = default;
    // May be called from any thread, one at a time.
    [[nodiscard]] virtual std::unique_ptr<Store> open(runtime::Loop& loop) = 0;
};

struct StoreKind {
    std::string name;
    std::function<std::unique_ptr<StoreWorld>()> make;
};

inline constexpr std::uint32_t buckets = 16;  // of every world

// A store on a loop that runs only while a call is waited for.
class Handle {
public:
    explicit Handle(StoreWorld& world) : store_(world.open(loop_)) {}

    explicit Handle(const std::function<std::unique_ptr<Store>(runtime::Loop&)>& open) : store_(open(loop_)) {}

    Store* operator->() { return store_.get(); }

    // Waits for one call.
    template <class T>
    T operator()(Task<T> task) {
        std::optional<T> answer;
        boost::asio::co_spawn(loop_.context(), std::move(task), [&](const std::exception_ptr& thrown, T value) {
            if (thrown) {
                std::rethrow_exception(thrown);
            }
            answer = std::move(value);
        });
        while (!answer) {
            loop_.context().run_one();
        }
        return std::move(*answer);
    }

    [[nodiscard]] Instant in(Duration duration) const { return clock_.now() + duration; }

    [[nodiscard]] Instant soon() const { return in(std::chrono::seconds{20}); }

    [[nodiscard]] Instant now() const { return clock_.now(); }

    runtime::Loop& loop() { return loop_; }

private:
    runtime::SystemClock clock_;
    runtime::Loop loop_{clock_};
    std::unique_ptr<Store> store_;
};

[[nodiscard]] core::SessionRow session_row(const std::string& id);
[[nodiscard]] core::Cursor cursor_at(std::uint64_t epoch, std::uint64_t ordinal, const std::string& value = "v");
// A claim of `row` as it was read.
[[nodiscard]] core::Claim claim_of(const core::ConnectionRow& row, const std::string& session,
                                   const std::string& attempt = "claim");
// A release by the owner of `row`.
[[nodiscard]] core::Release release_of(const core::ConnectionRow& row, const std::string& attempt = "release");
[[nodiscard]] std::string numbered(const std::string& prefix, int number);  // "prefix0007"
[[nodiscard]] std::vector<std::string> ids(const std::vector<core::ConnectionRow>& rows);
[[nodiscard]] std::vector<std::uint32_t> every_bucket();
[[nodiscard]] core::Owner nobody(core::DesiredState desired, const std::string& id);

class StoreContract : public testing::TestWithParam<StoreKind> {
protected:
    using Session = core::Outcome<core::SessionRow>;
    using Connection = core::Outcome<core::ConnectionRow>;

    // Each stops the test unless the store says done (or finds the row).
    core::SessionRow join(const std::string& id);
    core::ConnectionRow put(const std::string& id, core::DesiredState desired = core::DesiredState::started,
                            core::Labels labels = {});
    core::ConnectionRow claimed(const std::string& id, const std::string& session);
    core::ConnectionRow get(const std::string& id);
    core::ConnectionRow set_desired(const std::string& id, core::DesiredState desired);

    Connection claim(const core::Claim& verb);
    Connection release(const core::Release& verb);
    std::vector<std::string> unowned(std::vector<std::uint32_t> buckets_asked);

    std::unique_ptr<StoreWorld> world_ = GetParam().make();
    Handle store_{*world_};
};

template <class Row>
[[nodiscard]] testing::AssertionResult is_done(const core::Outcome<Row>& outcome) {
    if (outcome.verdict == core::Verdict::done && outcome.row) {
        return testing::AssertionSuccess();
    }
    return testing::AssertionFailure() << "verdict " << static_cast<int>(outcome.verdict);
}

// Refused, and the outcome carries `current`.
template <class Row>
[[nodiscard]] testing::AssertionResult is_refused_by(const core::Outcome<Row>& outcome,
                                                     const std::optional<Row>& current) {
    if (outcome.verdict != core::Verdict::refused) {
        return testing::AssertionFailure() << "verdict " << static_cast<int>(outcome.verdict);
    }
    if (outcome.row != current) {
        return testing::AssertionFailure() << "the outcome does not carry the current row";
    }
    return testing::AssertionSuccess();
}

}  // namespace longhold::store::contract
