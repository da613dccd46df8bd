/* SPDX-License-Identifier: Apache-2.0 */
/* The short form of the wrapper around ExecProcNode. */
#ifndef TAILOR_PG_STUBS_H
#define TAILOR_PG_STUBS_H

#include "postgres.h"

#include "nodes/execnodes.h"

#pragma GCC visibility push(hidden)

#define TAILOR_STUBS 256
/* The addresses of the stubs of node ids below TAILOR_STUBS. */
ExecProcNodeMtd tailor_stub(int plan_node_id);
ExecProcNodeMtd tailor_static_stub(int plan_node_id);

#pragma GCC visibility pop

#endif
