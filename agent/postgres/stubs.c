/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The short form of the wrapper around ExecProcNode: one stub for each plan_node_id below TAILOR_STUBS, so
 * that the number is an operand and nothing has to be read from the node. A stub
 *
 *   saves the slot, puts tags[id] there, calls node->ExecProcNodeReal, puts back what it saved;
 *
 * a static stub puts returns[id] there afterwards (wrap.c says when). Each is 64 bytes or less; the call
 * frame information is right at every instruction.
 */
#include "postgres.h"

#include "stubs.h"

#include "slot.h"

StaticAssertDecl(offsetof(PlanState, ExecProcNodeReal) == 0x20, "the stubs know where ExecProcNodeReal is");
StaticAssertDecl(TAILOR_STUBS == 256, "the stubs below are made for this number of ids");

#define STUB_BYTES 64

/* clang-format off */
__asm__(
    ".pushsection .text\n"
    ".balign 64\n"
    ".hidden tailor_slot\n"
    ".hidden tailor_tags\n"
    ".hidden tailor_returns\n"
    ".local tailor_stubs\n"
    ".type tailor_stubs, @function\n"
    "tailor_stubs:\n"
    ".set tailor_id, 0\n"
    ".rept 256\n"
    ".balign 64\n"
    ".cfi_startproc\n"
    "mov tailor_slot(%rip), %rax\n"
    "mov tailor_tags(%rip), %rdx\n"
    "pushq (%rax)\n"
    ".cfi_adjust_cfa_offset 8\n"
    "mov 8*tailor_id(%rdx), %rdx\n"
    "mov %rdx, (%rax)\n"
    "call *0x20(%rdi)\n"
    "mov tailor_slot(%rip), %rdx\n"
    "popq (%rdx)\n"
    ".cfi_adjust_cfa_offset -8\n"
    "ret\n"
    ".cfi_endproc\n"
    ".set tailor_id, tailor_id + 1\n"
    ".endr\n"
    ".balign 64\n"
    ".size tailor_stubs, .-tailor_stubs\n"
    ".local tailor_static_stubs\n"
    ".type tailor_static_stubs, @function\n"
    "tailor_static_stubs:\n"
    ".set tailor_id, 0\n"
    ".rept 256\n"
    ".balign 64\n"
    ".cfi_startproc\n"
    "mov tailor_slot(%rip), %rax\n"
    "mov tailor_tags(%rip), %rdx\n"
    "sub $8, %rsp\n"
    ".cfi_adjust_cfa_offset 8\n"
    "mov 8*tailor_id(%rdx), %rdx\n"
    "mov %rdx, (%rax)\n"
    "call *0x20(%rdi)\n"
    "mov tailor_slot(%rip), %rdx\n"
    "mov tailor_returns(%rip), %rcx\n"
    "mov 8*tailor_id(%rcx), %rcx\n"
    "mov %rcx, (%rdx)\n"
    "add $8, %rsp\n"
    ".cfi_adjust_cfa_offset -8\n"
    "ret\n"
    ".cfi_endproc\n"
    ".set tailor_id, tailor_id + 1\n"
    ".endr\n"
    ".balign 64\n"
    ".size tailor_static_stubs, .-tailor_static_stubs\n"
    ".popsection\n");
/* clang-format on */

extern const char tailor_stubs[] __attribute__((visibility("hidden")));
extern const char tailor_static_stubs[] __attribute__((visibility("hidden")));

ExecProcNodeMtd tailor_stub(int plan_node_id) {
  return (ExecProcNodeMtd)(uintptr_t)(tailor_stubs + (ptrdiff_t)plan_node_id * STUB_BYTES);
}

ExecProcNodeMtd tailor_static_stub(int plan_node_id) {
  return (ExecProcNodeMtd)(uintptr_t)(tailor_static_stubs + (ptrdiff_t)plan_node_id * STUB_BYTES);
}
