# Sanitizers for `make sanitize`: -DTALLYBAYES_SANITIZE=address (with undefined behaviour) or thread.
set(TALLYBAYES_SANITIZE "" CACHE STRING "address or thread: build the native module with sanitizers")
if(TALLYBAYES_SANITIZE STREQUAL "address")
  # Nothing is recovered from, so that a finding fails the test that caused it.
  set(sanitizers -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
elseif(TALLYBAYES_SANITIZE STREQUAL "thread")
  set(sanitizers -fsanitize=thread -fno-omit-frame-pointer)
endif()
