# longhold_layer(<name> LEVEL <n> [DEPENDS <lower layers>] [SOURCES <.cc>] [PRIVATE_LIBRARIES <targets>] [PUBLIC_LIBRARIES <targets>])
#
# Declares one layer as a static library `longhold_<name>`. Its public headers are all of include/longhold/<name>/**.h. A layer may
# depend only on layers of a lower level: a breach stops the configure step. There is no other include path, so a header is found
# only through a declared dependency.
function(longhold_layer name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "LEVEL" "DEPENDS;SOURCES;PRIVATE_LIBRARIES;PUBLIC_LIBRARIES")
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "layer ${name}: unknown words ${arg_UNPARSED_ARGUMENTS}")
    endif()
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/include/*.h")
    add_library(longhold_${name} STATIC ${arg_SOURCES})
    add_library(longhold::${name} ALIAS longhold_${name})
    set_target_properties(longhold_${name} PROPERTIES
        LONGHOLD_LEVEL ${arg_LEVEL}
        LONGHOLD_DEPENDS "${arg_DEPENDS}"
        LINKER_LANGUAGE CXX
        VERIFY_INTERFACE_HEADER_SETS ON)
    target_sources(longhold_${name} PUBLIC FILE_SET HEADERS BASE_DIRS include FILES ${headers})
    target_link_libraries(longhold_${name} PRIVATE longhold_flags ${arg_PRIVATE_LIBRARIES} PUBLIC ${arg_PUBLIC_LIBRARIES})
    foreach(dependency IN LISTS arg_DEPENDS)
        if(NOT TARGET longhold_${dependency})
            message(FATAL_ERROR "layer ${name}: no layer ${dependency} is declared before it")
        endif()
        get_target_property(level longhold_${dependency} LONGHOLD_LEVEL)
        if(NOT level LESS arg_LEVEL)
            message(FATAL_ERROR "layer ${name} (${arg_LEVEL}) may not use ${dependency} (${level})")
        endif()
        target_link_libraries(longhold_${name} PUBLIC longhold::${dependency})
    endforeach()
    set_property(GLOBAL APPEND PROPERTY LONGHOLD_LAYERS ${name})
endfunction()

# longhold_layer_test(<layer> SOURCES <x_test.cc …> [LIBRARIES <targets>])
#
# One test program per layer, `<layer>_test`; every gtest case becomes one CTest case with the label `unit`.
function(longhold_layer_test name)
    if(NOT LONGHOLD_TESTS)
        return()
    endif()
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
    add_executable(${name}_test ${arg_SOURCES})
    # Tests are compiled for the compiler's time, whatever the preset; what they test is not.
    target_compile_options(${name}_test PRIVATE -O0)
    target_link_libraries(${name}_test PRIVATE longhold_flags longhold::${name} ${arg_LIBRARIES} GTest::gtest_main GTest::gmock)
    gtest_discover_tests(${name}_test DISCOVERY_MODE PRE_TEST PROPERTIES LABELS unit TIMEOUT 120)
endfunction()

# longhold_fuzzer(<target> SOURCES <x_fuzz.cc> DEPENDS <layers>): one libFuzzer program, built only by the `fuzz` preset.
function(longhold_fuzzer name)
    if(NOT LONGHOLD_FUZZERS)
        return()
    endif()
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPENDS")
    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE longhold_flags)
    foreach(dependency IN LISTS arg_DEPENDS)
        target_link_libraries(${name} PRIVATE longhold::${dependency})
    endforeach()
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set_property(GLOBAL APPEND PROPERTY LONGHOLD_FUZZER_TARGETS ${name})
endfunction()

# longhold_fuzzers(): the target `fuzzers`, which builds all of them and nothing else.
function(longhold_fuzzers)
    get_property(targets GLOBAL PROPERTY LONGHOLD_FUZZER_TARGETS)
    add_custom_target(fuzzers DEPENDS ${targets})
endfunction()

# longhold_e2e_test(<name> COMMAND <command> [LABELS <labels>] [TIMEOUT <seconds>])
#
# One end-to-end script as a CTest case `e2e.<name>`, alone on the machine while it runs. Labels: `e2e`, and those given; a script
# that also runs against the sanitizer builds is given `sanitize`. It finds in its environment: LONGHOLD_BIN (the program under
# test), NODE_PATH (the npm packages of tests/e2e), and LONGHOLD_E2E_SHORT when it shall be brief.
function(longhold_e2e_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "COMMAND;LABELS")
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 300)
    endif()
    add_test(NAME e2e.${name} COMMAND ${arg_COMMAND} WORKING_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
    set_tests_properties(e2e.${name} PROPERTIES
        LABELS "e2e;${arg_LABELS}"
        TIMEOUT ${arg_TIMEOUT}
        RUN_SERIAL ON
        ENVIRONMENT "LONGHOLD_BIN=${CMAKE_BINARY_DIR}/bin/longhold;NODE_PATH=${PROJECT_SOURCE_DIR}/tests/e2e/node_modules")
endfunction()
