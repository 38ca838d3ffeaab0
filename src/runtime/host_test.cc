// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <longhold/runtime/host.h>
#include <longhold/runtime/listen_address.h>
#include <longhold/runtime/random_seed.h>
#include <longhold/runtime/service_notifier.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <set>

namespace longhold::runtime {
namespace {

TEST(FreshId, IsShortPlainTextAndNeverTheSame) {
    std::set<std::string> ids;
    for (int i = 0; i < 1000; ++i) {
        const std::string id = fresh_id();
        EXPECT_EQ(id.size(), 26U);
        EXPECT_EQ(id.find_first_not_of("0123456789abcdefghjkmnpqrstvwxyz"), std::string::npos);
        EXPECT_LT(id.front(), '8') << "128 bits leave three for the first character";
        ids.insert(id);
    }
    EXPECT_EQ(ids.size(), 1000U);
    EXPECT_NE(random_seed(), random_seed());
}

TEST(Host, TellsNameProcessAndDescriptors) {
    EXPECT_FALSE(host_name().empty());
    EXPECT_EQ(process_id(), ::getpid());
    const DescriptorLimit limit = raise_descriptor_limit();
    EXPECT_GE(limit.now, limit.before);
    EXPECT_GT(limit.now, 0U);
}

struct AddressCase {
    std::string_view text;
    HostPort want;  // an empty host: refused
};

TEST(ParseHostPort, ReadsAddressesAndRefusesTheRest) {
    for (const auto& [text, want] :
         {AddressCase{"127.0.0.1:8470", {"127.0.0.1", 8470}}, AddressCase{"[::1]:0", {"::1", 0}},
          AddressCase{"localhost:65535", {"localhost", 65535}}, AddressCase{"localhost", {}}, AddressCase{":80", {}},
          AddressCase{"::1:80", {}}, AddressCase{"a:65536", {}}, AddressCase{"a:", {}}, AddressCase{"a:80x", {}},
          AddressCase{"a:-1", {}}, AddressCase{"", {}}}) {
        const auto got = parse_host_port(text);
        EXPECT_EQ(got.value_or(HostPort{}), want) << text;
        if (!got) {
            EXPECT_NE(got.error().find("\"" + std::string{text} + "\""), std::string::npos) << got.error();
        }
    }
}

TEST(ServiceNotifier, SendsTheStateToAnAbstractAddress) {
    const std::string name = "@longhold-test-" + fresh_id();
    const int manager = ::socket(AF_UNIX, SOCK_DGRAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    address.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    ASSERT_EQ(::bind(manager, reinterpret_cast<const sockaddr*>(&address), size), 0);
    const ServiceNotifier notifier{name};
    EXPECT_TRUE(notifier.enabled());
    for (const auto& [sent, want] : {std::pair{notifier.ready(), "READY=1"}, std::pair{notifier.alive(), "WATCHDOG=1"},
                                     std::pair{notifier.stopping(), "STOPPING=1"}}) {
        ASSERT_TRUE(sent.has_value()) << sent.error();
        std::array<char, 64> text{};
        const auto got = ::recv(manager, text.data(), text.size(), MSG_DONTWAIT);
        ASSERT_GT(got, 0);
        EXPECT_EQ(std::string(text.data(), static_cast<std::size_t>(got)), want);
    }
    ::close(manager);
}

TEST(ServiceNotifier, IsSilentWithoutAManagerAndNamesABrokenOne) {
    EXPECT_TRUE(ServiceNotifier{""}.ready().has_value());
    const auto nobody = ServiceNotifier{"/nonexistent/notify"}.ready();
    ASSERT_FALSE(nobody.has_value());
    EXPECT_NE(nobody.error().find("/nonexistent/notify"), std::string::npos);
    EXPECT_FALSE(ServiceNotifier{std::string(200, 'x')}.ready().has_value());
}

}  // namespace
}  // namespace longhold::runtime
