/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to tailord, for SQL: one request of HTTP over the daemon's UNIX socket. The daemon sees the
 * server's user, and answers about the processes of that user. Which users of the server may ask is decided
 * in history.c.
 *
 * Unlike all other files this one waits and fails. It runs only where a statement calls it.
 */
#include "postgres.h"

#include "ask.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "settings.h"
#include "utf8.h"

#define DEFAULT_SOCKET "/run/tailor/http.sock"
/* The daemon gives itself 10 s for an answer. */
#define PATIENCE_MS 15000
/* Until it is asked again, where nothing tells that it has become ready. */
#define PAUSE_MS 100
#define MOST_HEAD_BYTES 65536
#define MOST_BODY_BYTES (64 * 1024 * 1024)
#define PIECE_BYTES 65536
#define SHOWN_BYTES 1000
/* PG_WAIT_EXTENSION, whose header is another one in each version. */
#define WAIT_EXTENSION 0x07000000U

#define HTTP_OK 200
#define HTTP_NOT_FOUND 404

typedef struct {
  const char* path; /* of the socket */
  int socket;
  TimestampTz until;
} Asking;

typedef struct {
  int status;
  int begin, length; /* of the body */
} Head;

/* `event`: of the socket, which ends the wait; 0: none does. */
static void wait_for(const Asking* asking, int event, long most_ms) {
  long left = TimestampDifferenceMilliseconds(GetCurrentTimestamp(), asking->until);
  if (left <= 0)
    ereport(ERROR,
            (errcode(ERRCODE_CONNECTION_FAILURE),
             errmsg("tailord at \"%s\" did not answer within %d s", asking->path, PATIENCE_MS / 1000)));
  int woken = WaitLatchOrSocket(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH | event,
                                asking->socket, Min(left, most_ms), WAIT_EXTENSION);
  if (!(woken & WL_LATCH_SET)) return;
  ResetLatch(MyLatch);
  CHECK_FOR_INTERRUPTS();
}

static void connect_to(const Asking* asking) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  if (strlcpy(address.sun_path, asking->path, sizeof(address.sun_path)) >= sizeof(address.sun_path))
    ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
                    errmsg("tailor.http_socket is too long for a UNIX socket: \"%s\"", asking->path)));
  while (connect(asking->socket, (struct sockaddr*)&address, sizeof(address)) != 0) {
    if (errno == EINTR) continue;
    if (errno == EAGAIN) { /* too many wait to be accepted, and no event says when fewer do */
      wait_for(asking, 0, PAUSE_MS);
      continue;
    }
    int error = errno;
    ereport(ERROR,
            (errcode(ERRCODE_CONNECTION_FAILURE), errmsg("no tailord answers at \"%s\": %m", asking->path),
             error == EACCES ? errhint("Make the server's user a member of tailord's group.")
                             : errhint("Start tailord, or name its HTTP socket in tailor.http_socket.")));
  }
}

static void connection_failed(const Asking* asking) {
  ereport(ERROR, (errcode(ERRCODE_CONNECTION_FAILURE),
                  errmsg("the connection to tailord at \"%s\" failed: %m", asking->path)));
}

static void not_understood(const Asking* asking, const char* why) {
  ereport(ERROR, (errcode(ERRCODE_PROTOCOL_VIOLATION),
                  errmsg("what answers at \"%s\" is no tailord: %s", asking->path, why),
                  errhint("Name the HTTP socket of tailord in tailor.http_socket.")));
}

static void send_all(const Asking* asking, const char* text, size_t length) {
  while (length > 0) {
    ssize_t sent = send(asking->socket, text, length, MSG_NOSIGNAL);
    if (sent >= 0) {
      text += sent;
      length -= (size_t)sent;
    } else if (errno == EAGAIN) {
      wait_for(asking, WL_SOCKET_WRITEABLE, PATIENCE_MS);
    } else if (errno != EINTR) {
      connection_failed(asking);
    }
  }
}

/* False: the other end has closed. */
static bool receive_more(const Asking* asking, StringInfo answer) {
  enlargeStringInfo(answer, PIECE_BYTES);
  for (;;) {
    ssize_t got = recv(asking->socket, answer->data + answer->len, PIECE_BYTES, 0);
    if (got >= 0) {
      answer->len += (int)got;
      answer->data[answer->len] = '\0';
      return got > 0;
    }
    if (errno == EAGAIN)
      wait_for(asking, WL_SOCKET_READABLE, PATIENCE_MS);
    else if (errno != EINTR)
      connection_failed(asking);
  }
}

/* The number of bytes that a header says; below 0: this header says none. */
static int64 length_in(const char* line) {
  static const char kName[] = "content-length:";
  if (pg_strncasecmp(line, kName, strlen(kName)) != 0) return -1;
  char* end = NULL;
  errno = 0;
  unsigned long long length = strtoull(line + strlen(kName), &end, 10);
  return errno != 0 || *end != '\r' || length > MOST_BODY_BYTES ? MOST_BODY_BYTES + INT64CONST(1)
                                                                : (int64)length;
}

/* False: not all of it has come. */
static bool read_head(const Asking* asking, const StringInfo answer, Head* head) {
  const char* end = strstr(answer->data, "\r\n\r\n");
  if (!end) {
    if (answer->len > MOST_HEAD_BYTES) not_understood(asking, "its headers have no end");
    return false;
  }
  if (sscanf(answer->data, "HTTP/1.%*1[01] %3d", &head->status) != 1)
    not_understood(asking, "it does not speak HTTP/1.1");
  int64 length = -1;
  for (const char* line = strstr(answer->data, "\r\n"); line < end && length < 0;
       line = strstr(line + 2, "\r\n"))
    length = length_in(line + 2);
  if (length < 0) not_understood(asking, "it does not say how long its answer is");
  if (length > MOST_BODY_BYTES)
    ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
                    errmsg("the answer of tailord is longer than %d MiB", MOST_BODY_BYTES / 1024 / 1024),
                    errhint("Ask for fewer rows, or for a shorter time.")));
  head->begin = (int)(end + 4 - answer->data);
  head->length = (int)length;
  return true;
}

static void read_answer(const Asking* asking, StringInfo answer, Head* head) {
  bool has_head = false;
  for (;;) {
    if (!has_head) has_head = read_head(asking, answer, head);
    if (has_head && answer->len - head->begin >= head->length) return;
    if (!receive_more(asking, answer)) not_understood(asking, "it closed the connection in its answer");
  }
}

static void ask_daemon(Asking* asking, const char* path, StringInfo answer, Head* head) {
  char* request = psprintf("GET %s HTTP/1.1\r\nHost: tailor\r\nConnection: close\r\n\r\n", path);
  asking->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (asking->socket < 0)
    ereport(ERROR, (errcode(ERRCODE_SYSTEM_ERROR), errmsg("no socket can be made: %m")));
  connect_to(asking);
  send_all(asking, request, strlen(request));
  read_answer(asking, answer, head);
}

char* tailor_ask(const char* path) {
  StringInfoData answer;
  Head head = {0};
  Asking asking = {.path = tailor_http_socket && *tailor_http_socket ? tailor_http_socket : DEFAULT_SOCKET,
                   .socket = -1,
                   .until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), PATIENCE_MS)};
  /* An error jumps over this frame, and registers are not what they were then. */
  Asking* volatile now = &asking;
  initStringInfo(&answer);
  if (!AcquireExternalFD())
    ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_RESOURCES),
                    errmsg("no descriptor is left for a connection to tailord"),
                    errhint("Raise max_files_per_process.")));
  PG_TRY();
  {
    ask_daemon(&asking, path, &answer, &head);
  }
  PG_FINALLY();
  {
    if (now->socket >= 0) close(now->socket);
    ReleaseExternalFD();
  }
  PG_END_TRY();
  if (head.status == HTTP_NOT_FOUND) return NULL;
  bool refused = head.status != HTTP_OK;
  int length = refused ? Min(head.length, SHOWN_BYTES) : head.length;
  if (refused) length = pg_encoding_mbcliplen(PG_UTF8, answer.data + head.begin, head.length, length);
  answer.data[head.begin + length] = '\0';
  char* body = tailor_from_utf8(answer.data + head.begin, length);
  if (refused)
    ereport(ERROR, (errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
                    errmsg("tailord refused to answer (%d)", head.status), errdetail_internal("%s", body)));
  return body;
}

void tailor_ask_until(const char* path, const char* expected, int patience_ms) {
  TimestampTz until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), patience_ms);
  MemoryContext answers =
      AllocSetContextCreate(CurrentMemoryContext, "answers of tailord", ALLOCSET_DEFAULT_SIZES);
  MemoryContext caller = MemoryContextSwitchTo(answers);
  for (;;) {
    const char* answer = tailor_ask(path);
    if ((answer && strstr(answer, expected)) || GetCurrentTimestamp() >= until) break;
    MemoryContextReset(answers);
    (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, PAUSE_MS, WAIT_EXTENSION);
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
  }
  MemoryContextSwitchTo(caller);
  MemoryContextDelete(answers);
}
