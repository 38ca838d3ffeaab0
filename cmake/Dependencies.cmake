# Third-party libraries, found once. A layer links them PRIVATE in its own CMakeLists.txt, so that their headers stay behind it.

find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(simdjson REQUIRED)
if(LONGHOLD_TESTS OR NOT DEFINED LONGHOLD_TESTS)
    find_package(GTest REQUIRED)
    include(GoogleTest)
endif()
