# find_package(memtop): memtop::memtop is memtop.h alone; memtop::agent and memtop::wrap link the agent in (memtop-agent(7)).
get_filename_component(_memtop "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET memtop::memtop)
  add_library(memtop::memtop INTERFACE IMPORTED)
  set_target_properties(memtop::memtop PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${_memtop}/include")

  add_library(memtop::agent INTERFACE IMPORTED)
  set_target_properties(memtop::agent PROPERTIES
    INTERFACE_LINK_OPTIONS "-Wl,-u,malloc"
    INTERFACE_LINK_LIBRARIES "memtop::memtop;${_memtop}/lib/memtop/libmemtop-agent.a")

  add_library(memtop::wrap INTERFACE IMPORTED)
  set_target_properties(memtop::wrap PROPERTIES
    INTERFACE_LINK_OPTIONS "@${_memtop}/lib/memtop/wrap.flags"
    INTERFACE_LINK_LIBRARIES "memtop::memtop;${_memtop}/lib/memtop/libmemtop-wrap.a")
endif()

unset(_memtop)
