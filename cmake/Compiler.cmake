# Compiler checks and the flags that hold for every target.

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    message(FATAL_ERROR
        "GCC ${CMAKE_CXX_COMPILER_VERSION} is refused: up to version 12 it destroys brace-initialised aggregates and "
        "capturing lambdas twice inside a co_await expression (a double free at run time). "
        "Use clang 19 (`./dev build` installs it and does so), or GCC 13 or later.")
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 19)
    message(FATAL_ERROR "clang ${CMAKE_CXX_COMPILER_VERSION} is too old: Longhold needs clang 19 or later.")
endif()

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

set(LONGHOLD_SANITIZE "" CACHE STRING "Sanitizers for every target, as -fsanitize= takes them")

add_library(longhold_flags INTERFACE)
target_compile_options(longhold_flags INTERFACE -Wall -Wextra -Wconversion -Wshadow -Werror)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # Fields that a designated initialiser leaves out have their default on purpose.
    target_compile_options(longhold_flags INTERFACE -Wno-missing-designated-field-initializers)
endif()
target_compile_definitions(longhold_flags INTERFACE
    BOOST_ASIO_SEPARATE_COMPILATION
    BOOST_BEAST_SEPARATE_COMPILATION
    BOOST_ASIO_NO_DEPRECATED)
if(LONGHOLD_SANITIZE)
    add_compile_options(-fsanitize=${LONGHOLD_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${LONGHOLD_SANITIZE})
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    find_program(LONGHOLD_LLD NAMES ld.lld-19 ld.lld)
    if(LONGHOLD_LLD)
        add_link_options(--ld-path=${LONGHOLD_LLD})
    endif()
endif()

find_program(LONGHOLD_CCACHE ccache)
if(LONGHOLD_CCACHE)
    set(CMAKE_CXX_COMPILER_LAUNCHER "${LONGHOLD_CCACHE}")
endif()
