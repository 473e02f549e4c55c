/* SPDX-License-Identifier: MIT
 *
 * test_demangle.c - names as in the source code.
 */
#include "base/name.h"
#include "check.h"
#include "symbols/demangle.h"

static void expect(const char *raw, const char *full, const char *brief)
{
	char *name = demangle(raw), *cut = name_brief(name);

	CHECK_STR(name, full);
	CHECK_STR(cut, brief);
	free(name);
	free(cut);
}

TEST(plain_names_stay)
{
	expect("main", "main", "main");
	expect("i", "i", "i");
	expect("_start", "_start", "_start");
	expect("foo.constprop.0", "foo.constprop.0", "foo.constprop.0");
	expect("_Z", "_Z", "_Z");
	expect("", "", "");
}

TEST(cxx_names)
{
	expect("_Z3fooi", "foo(int)", "foo");
	expect("_ZN3ns13FooC1Ev", "ns1::Foo::Foo()", "ns1::Foo::Foo");
	expect("_ZN2ns3FooC1Ev", "ns::Foo::Foo()", "ns::Foo::Foo");
	expect("_ZNK3Foo3barERKi", "Foo::bar(int const&) const", "Foo::bar");
	expect("_Z3maxIiET_S0_S0_", "int max<int>(int, int)", "max");
	expect("_ZN12_GLOBAL__N_14workEi", "(anonymous namespace)::work(int)",
	       "(anonymous namespace)::work");
	expect("_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const",
	       "main::{lambda#1}::operator()");
	expect("_ZZ3fooiE3bar", "foo(int)::bar", "foo::bar");
	expect("_Znwm", "operator new(unsigned long)", "operator new");
	expect("_ZdaPv", "operator delete[](void*)", "operator delete[]");
	expect("_ZN3FoolsEi", "Foo::operator<<(int)", "Foo::operator<<");
	expect("_ZN3FooltERKS_", "Foo::operator<(Foo const&)", "Foo::operator<");
	expect("_ZltI3FooEbRKT_S3_", "bool operator< <Foo>(Foo const&, Foo const&)", "operator<");
	expect("_ZN3FoocvbEv", "Foo::operator bool()", "Foo::operator bool");
	expect("_ZN3FooptEv", "Foo::operator->()", "Foo::operator->");
	expect("_Z3fooi.part.0", "foo(int) [clone .part.0]", "foo");
	expect("_ZNSt6vectorIiSaIiEE9push_backERKi",
	       "std::vector<int, std::allocator<int> >::push_back(int const&)",
	       "std::vector::push_back");
	expect("_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE9_M_createERmm",
	       "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> "
	       ">::_M_create(unsigned long&, unsigned long)",
	       "std::__cxx11::basic_string::_M_create");
}

TEST(rust_names)
{
	expect("_ZN4core3fmt5write17h0123456789abcdefE", "core::fmt::write", "core::fmt::write");
	expect("_ZN60_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..Drop$GT$"
	       "4drop17h0123456789abcdefE",
	       "<alloc::vec::Vec<T> as core::ops::Drop>::drop", "alloc::vec::Vec::drop");
	expect("_RNvC6_123foo3bar", "123foo::bar", "123foo::bar");
}
