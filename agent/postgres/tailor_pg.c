/* SPDX-License-Identifier: Apache-2.0 */
#include "tailor_pg.h"

#include "fmgr.h"
#include "miscadmin.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

void _PG_init(void) {
  tailor_define_settings();
  if (process_shared_preload_libraries_in_progress) tailor_learn_waits();
  tailor_install_hooks();
}
