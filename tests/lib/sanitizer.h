/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HAS_ADDRESS_SANITIZER: shadow memory is mapped, so memory limits cannot be used. */
#ifndef LB_TESTS_SANITIZER_H
#define LB_TESTS_SANITIZER_H

#ifdef __SANITIZE_ADDRESS__ /* gcc */
#define HAS_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ADDRESS_SANITIZER
#endif
#endif

#endif
