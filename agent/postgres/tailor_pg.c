/* SPDX-License-Identifier: Apache-2.0 */
#include "tailor_pg.h"

#include "fmgr.h"
#include "miscadmin.h"
#if PG_VERSION_NUM >= 160000
#include "nodes/queryjumble.h"
#else
#include "utils/queryjumble.h"
#endif

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

void _PG_init(void) {
  tailor_define_settings();
  EnableQueryId();
  if (process_shared_preload_libraries_in_progress) tailor_learn_waits();
  tailor_install_hooks();
}
