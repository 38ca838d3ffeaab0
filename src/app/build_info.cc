// SPDX-License-Identifier: Apache-2.0
#include "build_info.h"

#include <longhold/sink/open.h>
#include <longhold/store/open.h>

namespace longhold::app {

BuildInfo build_info() {
    const auto sinks = sink::sink_schemes();
    return {.version = LONGHOLD_VERSION,
            .build_type = LONGHOLD_BUILD_TYPE,
            .compiler = __VERSION__,
            .stores = store::store_schemes(),
            .sinks = {sinks.begin(), sinks.end()}};
}

}  // namespace longhold::app
