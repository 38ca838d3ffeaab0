// SPDX-License-Identifier: Apache-2.0
#include <longhold/store/store.h>

#include <utility>

namespace longhold::store {

Remedy remedy(Errc code) {
    switch (code) {
        case Errc::unavailable:
        case Errc::throttled:
            return Remedy::retry;
        case Errc::not_found:
        case Errc::corrupt:
        case Errc::incompatible:
        case Errc::exists:
        case Errc::invalid:
            return Remedy::stop;
    }
    std::unreachable();
}

}  // namespace longhold::store
