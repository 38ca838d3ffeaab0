// SPDX-License-Identifier: Apache-2.0
#include <longhold/base/invariant.h>
#include <longhold/core/intake.h>

namespace longhold::core {

Intake::Intake(const IntakeLimits& limits) : limits_(limits) {
    invariant(limits.low < limits.high && limits.burst > 0, "marks have a distance, and a read has a size");
}

Admission Intake::admit(std::uint64_t bytes, Instant now) {
    if (bytes > bound() - bytes_) {
        ++refusals_;
        return Admission::refused;
    }
    bytes_ += bytes;
    if (bytes_ < limits_.high && !paused()) {
        return Admission::admitted;
    }
    if (!paused()) {
        paused_since_ = now;
        ++pauses_;
    }
    return Admission::admitted_pause;
}

bool Intake::returned(std::uint64_t bytes) {
    invariant(bytes <= bytes_, "no more comes back than was admitted");
    bytes_ -= bytes;
    if (!paused() || bytes_ > limits_.low) {
        return false;
    }
    paused_since_.reset();
    return true;
}

}  // namespace longhold::core
