/* SPDX-License-Identifier: MIT
 *
 * libcurl tells which sockets it waits for and until when, by callbacks; here is the poll loop around it.
 */
#include "etcd.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/address.h"

enum {
  SOCKETS_MAX = 4,
  GRPC_NOT_FOUND = 5,
  GRPC_UNAVAILABLE = 14,
  GRPC_UNAUTHENTICATED = 16,
  HTTP_OK = 200,
  HTTP_SERVER = 500
};

struct etcd_link {
  struct lb_env *env;
  CURLM *multi;
  CURL *easy;
  struct curl_slist *headers;
  struct curl_slist *addresses; /* of its name */
  char *token;                  /* what a login gave; NULL = there was none */
  char base[300];               /* "http://10.0.0.1:2379" */
  struct pollfd socket[SOCKETS_MAX];
  size_t socket_count;
  lb_ns timer;         /* when libcurl wants to be called; LB_NEVER */
  char *body, *answer; /* malloc'd */
  size_t body_size, body_read, answer_size;
  bool asking, ended; /* a request is in the multi handle; it has come to an end: `result` */
  CURLcode result;
  int fd; /* of the latest connection that was made; -1 = it was closed */
  uint64_t losses;
  char error[CURL_ERROR_SIZE];
};

/* ---- callbacks of libcurl ---------------------------------------------------------------------------------------- */

static size_t give_body(char *buf, size_t size, size_t count, void *arg) {
  struct etcd_link *link = arg;
  size_t n = link->body_size - link->body_read;
  if (n > size * count) n = size * count;
  memcpy(buf, link->body + link->body_read, n);
  link->body_read += n;
  return n;
}

static size_t take_answer(char *data, size_t size, size_t count, void *arg) {
  struct etcd_link *link = arg;
  size_t n = size * count;
  char *more = realloc(link->answer, link->answer_size + n + 1);
  if (!more) return 0;
  link->answer = more;
  memcpy(more + link->answer_size, data, n);
  link->answer_size += n;
  more[link->answer_size] = '\0';
  return n;
}

static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *unused) {
  struct etcd_link *link = arg;
  size_t i = 0;
  (void)easy, (void)unused;
  while (i < link->socket_count && link->socket[i].fd != fd) i++;
  if (what == CURL_POLL_REMOVE) {
    if (i < link->socket_count) link->socket[i] = link->socket[--link->socket_count];
    return 0;
  }
  if (i == SOCKETS_MAX) return -1;
  if (i == link->socket_count) link->socket_count++;
  link->socket[i] = (struct pollfd){
      .fd = fd, .events = (short)((what & CURL_POLL_IN ? POLLIN : 0) | (what & CURL_POLL_OUT ? POLLOUT : 0))};
  return 0;
}

static int set_timer(CURLM *multi, long ms, void *arg) {
  struct etcd_link *link = arg;
  (void)multi;
  link->timer = ms < 0 ? LB_NEVER : lb_now(link->env) + (lb_ns)ms * LB_NS_PER_MS;
  return 0;
}

static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *at) {
  struct etcd_link *link = arg;
  (void)purpose;
  return link->fd = socket(at->family, at->socktype | SOCK_CLOEXEC, at->protocol);
}

static int close_socket(void *arg, curl_socket_t fd) {
  struct etcd_link *link = arg;
  link->losses++;
  if (link->fd == fd) link->fd = -1;
  return close(fd);
}

/* ---- open and close ---------------------------------------------------------------------------------------------- */

#define SET(option, value) (curl_easy_setopt(link->easy, (option), (value)) == CURLE_OK)

/* No signals, no proxy, no redirects; a connection that is kept, without the delay of small packets. */
static bool prepare(struct etcd_link *link) {
  link->multi = curl_multi_init();
  link->easy = curl_easy_init();
  link->headers = curl_slist_append(NULL, "Content-Type: application/json");
  struct curl_slist *more = link->headers ? curl_slist_append(link->headers, "Expect:") : NULL;
  if (!link->multi || !link->easy || !more) return false;
  curl_multi_setopt(link->multi, CURLMOPT_SOCKETFUNCTION, watch_socket);
  curl_multi_setopt(link->multi, CURLMOPT_SOCKETDATA, link);
  curl_multi_setopt(link->multi, CURLMOPT_TIMERFUNCTION, set_timer);
  curl_multi_setopt(link->multi, CURLMOPT_TIMERDATA, link);
  curl_multi_setopt(link->multi, CURLMOPT_MAXCONNECTS, 1L);
  return SET(CURLOPT_NOSIGNAL, 1L) && SET(CURLOPT_PROXY, "") && SET(CURLOPT_NOPROXY, "*") &&
         SET(CURLOPT_TCP_NODELAY, 1L) && SET(CURLOPT_TCP_KEEPALIVE, 1L) &&
         SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) && SET(CURLOPT_HTTPHEADER, link->headers) &&
         SET(CURLOPT_READFUNCTION, give_body) && SET(CURLOPT_READDATA, link) &&
         SET(CURLOPT_WRITEFUNCTION, take_answer) && SET(CURLOPT_WRITEDATA, link) &&
         SET(CURLOPT_OPENSOCKETFUNCTION, open_socket) && SET(CURLOPT_OPENSOCKETDATA, link) &&
         SET(CURLOPT_CLOSESOCKETFUNCTION, close_socket) && SET(CURLOPT_CLOSESOCKETDATA, link) &&
         SET(CURLOPT_ERRORBUFFER, link->error) && SET(CURLOPT_PROTOCOLS_STR, "http,https");
}

/* By its name, as a certificate is of a name; the address has been looked up, because libcurl would block for that. */
static bool aim(struct etcd_link *link, const struct lb_endpoint *at, const char *address, const char *ca) {
  char known[400];
  bool ipv6 = strchr(at->host, ':');
  snprintf(link->base, sizeof link->base, "http%s://%s%s%s:%u", at->tls ? "s" : "", ipv6 ? "[" : "", at->host,
           ipv6 ? "]" : "", at->port);
  snprintf(known, sizeof known, "%s:%u:%s", at->host, at->port, address);
  if (strcmp(at->host, address) != 0 &&
      (!(link->addresses = curl_slist_append(NULL, known)) || !SET(CURLOPT_RESOLVE, link->addresses)))
    return false;
  return ca ? SET(CURLOPT_CAINFO, ca) : SET(CURLOPT_SSL_VERIFYPEER, 0L) && SET(CURLOPT_SSL_VERIFYHOST, 0L);
}

/* What a login gives is carried by all requests after it. */
static bool carry(struct etcd_link *link, const char *token) {
  char header[600];
  if (snprintf(header, sizeof header, "Authorization: %s", token) >= (int)sizeof header ||
      !(link->token = strdup(token)))
    return false;
  struct curl_slist *more = curl_slist_append(link->headers, header);
  return more && SET(CURLOPT_HTTPHEADER, link->headers = more);
}

static int log_in(struct etcd_link *link, const struct lb_endpoint *at, lb_ns deadline) {
  json_t *said = NULL;
  int r = etcd_call(link, "/v3/auth/authenticate",
                    json_pack("{s:s,s:s}", "name", at->user ? at->user : "root", "password", at->password), deadline,
                    &said);
  const char *token = json_string_value(json_object_get(said, "token"));
  if (r > 0) r = -ETIMEDOUT;
  if (r == -EPROTO) r = -EACCES;
  if (r == 0 && !(token && carry(link, token)))
    r = lb_fail(link->env, -EPROTO, "etcd %s: a login without a token", link->base);
  json_decref(said);
  return r;
}

int etcd_open_beside(const struct etcd_link *other, struct lb_env *env, const struct lb_target *target,
                     const struct lb_endpoint *at, lb_ns deadline, struct etcd_link **ret) {
  struct lb_endpoint plain = *at;
  if (other && other->token) plain.password = NULL;
  int r = etcd_open(env, target, &plain, deadline, ret);
  if (r < 0 || !other || !other->token || carry(*ret, other->token)) return r;
  etcd_close(*ret);
  return lb_fail(env, -ENOMEM, "no memory for libcurl");
}

int etcd_open(struct lb_env *env, const struct lb_target *target, const struct lb_endpoint *at, lb_ns deadline,
              struct etcd_link **ret) {
  char address[LB_ADDRESS_MAX];
  *ret = NULL;
  int r = lb_address(env, at->host, deadline, address);
  if (r < 0) return r;
  struct etcd_link *link = calloc(1, sizeof *link);
  if (!link || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    return free(link), lb_fail(env, -ENOMEM, "no memory for libcurl");
  link->env = env;
  link->timer = LB_NEVER;
  link->fd = -1;
  if (!prepare(link) || !aim(link, at, address, target ? target->ca_file : NULL))
    return etcd_close(link), lb_fail(env, -ENOMEM, "no memory for libcurl");
  r = at->password ? log_in(link, at, deadline) : 0;
  if (r < 0) etcd_close(link);
  else *ret = link;
  return r;
}

void etcd_close(struct etcd_link *link) {
  if (!link) return;
  if (link->asking) curl_multi_remove_handle(link->multi, link->easy);
  curl_easy_cleanup(link->easy);
  curl_multi_cleanup(link->multi);
  curl_slist_free_all(link->headers);
  curl_slist_free_all(link->addresses);
  curl_global_cleanup();
  free(link->token);
  free(link->body);
  free(link->answer);
  free(link);
}

/* ---- a request --------------------------------------------------------------------------------------------------- */

static void see_end(struct etcd_link *link) {
  CURLMsg *said;
  int left;
  while ((said = curl_multi_info_read(link->multi, &left)))
    if (said->msg == CURLMSG_DONE) link->ended = true, link->result = said->data.result;
}

/* Takes the request out of libcurl. One that has not ended takes its connection along. */
static void take_out(struct etcd_link *link) {
  if (link->asking) curl_multi_remove_handle(link->multi, link->easy);
  link->asking = false;
}

int etcd_send(struct etcd_link *link, const char *path, json_t *body) {
  char url[sizeof link->base + 100];
  int running;
  take_out(link);
  free(link->body);
  free(link->answer);
  link->body = body ? json_dumps(body, JSON_COMPACT) : NULL;
  link->answer = NULL;
  link->body_size = link->body ? strlen(link->body) : 0;
  link->body_read = link->answer_size = 0;
  link->ended = false;
  link->error[0] = '\0';
  bool whole = !body || link->body;
  json_decref(body);
  snprintf(url, sizeof url, "%s%s", link->base, path);
  bool set = link->body ? SET(CURLOPT_POST, 1L) && SET(CURLOPT_POSTFIELDSIZE, (long)link->body_size)
                        : SET(CURLOPT_HTTPGET, 1L);
  if (!whole || !set || !SET(CURLOPT_URL, url) || curl_multi_add_handle(link->multi, link->easy) != CURLM_OK)
    return lb_fail(link->env, -ENOMEM, "no memory for a request to etcd");
  link->asking = true;
  curl_multi_socket_action(link->multi, CURL_SOCKET_TIMEOUT, 0, &running);
  see_end(link);
  return 0;
}

static void tell_libcurl(struct etcd_link *link, const struct pollfd *ready, size_t count) {
  int running;
  for (size_t i = 0; i < count; i++) {
    short r = ready[i].revents;
    int what = (r & (POLLIN | POLLHUP) ? CURL_CSELECT_IN : 0) | (r & POLLOUT ? CURL_CSELECT_OUT : 0) |
               (r & (POLLERR | POLLNVAL) ? CURL_CSELECT_ERR : 0);
    if (what) curl_multi_socket_action(link->multi, ready[i].fd, what, &running);
  }
  if (lb_now(link->env) >= link->timer) {
    link->timer = LB_NEVER;
    curl_multi_socket_action(link->multi, CURL_SOCKET_TIMEOUT, 0, &running);
  }
  see_end(link);
}

/* LB_OK: it has ended, or `text` has come. LB_BUSY: not yet. */
static int go_on(struct etcd_link *link, const char *text, lb_ns deadline) {
  struct pollfd ready[SOCKETS_MAX];
  if (!link->asking) return lb_fail(link->env, -EINVAL, "nothing was asked of etcd");
  while (!link->ended && !(text && link->answer && strstr(link->answer, text))) {
    size_t count = link->socket_count;
    memcpy(ready, link->socket, sizeof ready);
    int n = lb_wait_fds(link->env, ready, count, link->timer < deadline ? link->timer : deadline);
    if (n < 0) return n;
    tell_libcurl(link, ready, n > 0 ? count : 0);
    if (n == 0 && !link->ended && lb_now(link->env) >= deadline) return LB_BUSY;
  }
  return LB_OK;
}

static int unanswered(const struct etcd_link *link) { return link->body_read > 0 ? LB_UNKNOWN : LB_TIMEOUT; }

/* HTTP came to nothing. A GET changes nothing, so of it nothing can be left. */
static int broken(struct etcd_link *link) {
  long error = 0;
  curl_easy_getinfo(link->easy, CURLINFO_OS_ERRNO, &error);
  const char *why = link->error[0] ? link->error : curl_easy_strerror(link->result);
  if (error > 0 && link->result == CURLE_COULDNT_CONNECT)
    why = strerror((int)error); /* which libcurl's words leave out */
  int r = lb_fail(link->env, error > 0 ? -(int)error : -ECONNRESET, "etcd %s: %s", link->base, why);
  return unanswered(link) == LB_UNKNOWN ? LB_UNKNOWN : r;
}

/* {"error": TEXT, "code": NUMBER}, or "message" where the gateway is newer: the codes are those of gRPC. A server that has
 * no leader, or that lost it meanwhile, does not know what becomes of the request. */
static int refused(struct etcd_link *link, long status, const json_t *said) {
  const char *text = json_string_value(json_object_get(said, "error"));
  if (!text) text = json_string_value(json_object_get(said, "message"));
  json_int_t code = json_integer_value(json_object_get(said, "code"));
  int r = lb_fail(link->env,
                  code == GRPC_NOT_FOUND         ? -ENOENT
                  : code == GRPC_UNAUTHENTICATED ? -EACCES
                                                 : -EPROTO,
                  "etcd %s: HTTP %ld: %s", link->base, status, text ? text : "no reason");
  return status >= HTTP_SERVER && link->body ? LB_UNKNOWN : r;
}

int etcd_receive(struct etcd_link *link, lb_ns deadline, json_t **ret) {
  long status = 0;
  *ret = NULL;
  int result = go_on(link, NULL, deadline);
  if (result != LB_OK) return result;
  if (link->result != CURLE_OK) return take_out(link), broken(link);
  curl_easy_getinfo(link->easy, CURLINFO_RESPONSE_CODE, &status);
  take_out(link);
  json_t *said = link->answer ? json_loads(link->answer, 0, NULL) : NULL;
  if (!said) return lb_fail(link->env, -EPROTO, "etcd %s: HTTP %ld without JSON", link->base, status), unanswered(link);
  if (status == HTTP_OK) return *ret = said, LB_OK;
  result = refused(link, status, said);
  json_decref(said);
  return result;
}

int etcd_await_text(struct etcd_link *link, const char *text, lb_ns deadline) {
  int result = go_on(link, text, deadline);
  if (result != LB_OK || !link->ended) return result;
  take_out(link);
  return link->result == CURLE_OK ? lb_fail(link->env, -EPIPE, "etcd %s: the stream has ended", link->base)
                                  : broken(link);
}

int etcd_metric(struct etcd_link *link, const char *name, lb_ns deadline, char *ret, size_t size) {
  char begin[80];
  int result = etcd_send(link, "/metrics", NULL);
  if (result == 0) result = go_on(link, NULL, deadline);
  if (result != LB_OK) return result < 0 ? result : LB_TIMEOUT;
  take_out(link);
  if (link->result != CURLE_OK) return broken(link);
  snprintf(begin, sizeof begin, "\n%s ", name);
  const char *row = link->answer ? strstr(link->answer, begin) : NULL;
  if (!row) return lb_fail(link->env, -EPROTO, "etcd %s does not tell %s", link->base, name);
  return snprintf(ret, size, "%.*s", (int)strcspn(row + 1, "\r\n"), row + 1), LB_OK;
}

int etcd_await(struct etcd_link *link, lb_ns deadline) { return go_on(link, NULL, deadline); }

bool etcd_is_asking(const struct etcd_link *link) { return link && link->asking; }

int etcd_give_up(struct etcd_link *link) {
  take_out(link);
  lb_fail(link->env, -ETIMEDOUT, "etcd %s: no answer in time", link->base);
  return unanswered(link);
}

int etcd_call(struct etcd_link *link, const char *path, json_t *body, lb_ns deadline, json_t **ret) {
  int result = etcd_send(link, path, body);
  if (result == 0) result = etcd_receive(link, deadline, ret);
  else *ret = NULL;
  return result == LB_BUSY ? etcd_give_up(link) : result;
}

/* The end of a connection is there to be read before anybody asks for something. */
static bool was_closed(const struct etcd_link *link) {
  char byte;
  if (link->fd < 0 || link->asking) return false;
  ssize_t n = recv(link->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n == 0 || (n < 0 && errno != EAGAIN);
}

uint64_t etcd_losses(struct etcd_link *link, bool look) { return link->losses + (look && was_closed(link)); }

/* ---- how the gateway writes numbers and keys --------------------------------------------------------------------- */

uint64_t etcd_number(const json_t *object, const char *name) {
  const char *text = json_string_value(json_object_get(object, name));
  return text ? strtoull(text, NULL, 10) : 0;
}

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

json_t *etcd_text(const char *text) {
  size_t size = strlen(text), n = 0;
  char out[400];
  for (size_t i = 0; i < size && n + 5 <= sizeof out; i += 3) {
    size_t left = size - i;
    unsigned three = (unsigned)(unsigned char)text[i] << 16 |
                     (left > 1 ? (unsigned)(unsigned char)text[i + 1] << 8 : 0) |
                     (left > 2 ? (unsigned char)text[i + 2] : 0);
    out[n++] = digits[three >> 18 & 63];
    out[n++] = digits[three >> 12 & 63];
    out[n++] = left > 1 ? digits[three >> 6 & 63] : '=';
    out[n++] = left > 2 ? digits[three & 63] : '=';
  }
  return json_stringn(out, n);
}

int etcd_read_text(const json_t *text, char *buf, size_t size) {
  const char *at = json_string_value(text);
  unsigned bits = 0, value = 0;
  size_t n = 0;
  for (; at && *at && *at != '='; at++) {
    const char *digit = strchr(digits, *at);
    if (!digit) return -EPROTO;
    value = value << 6 | (unsigned)(digit - digits);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    if (n + 1 >= size) return -EPROTO;
    buf[n++] = (char)(value >> bits);
  }
  buf[n] = '\0';
  return at ? 0 : -EPROTO;
}

/* ---- for the hook break_lock ------------------------------------------------------------------------------------- */

/* 1 = it was there, 0 = it was not, -errno. */
static int delete_key(struct etcd_link *link, const json_t *key, lb_ns deadline) {
  json_t *said = NULL;
  int result = etcd_call(link, "/v3/kv/deleterange", json_pack("{s:O}", "key", key), deadline, &said);
  bool any = result == LB_OK && etcd_number(said, "deleted") > 0;
  json_decref(said);
  return result > 0 ? -ETIMEDOUT : result < 0 ? result : any;
}

int etcd_break(struct lb_env *env, const struct lb_target *target, size_t endpoint, json_t *range, lb_ns deadline) {
  struct etcd_link *link = NULL;
  json_t *said = NULL;
  json_object_set_new(range, "sort_target", json_string("CREATE"));
  json_object_set_new(range, "sort_order", json_string("ASCEND"));
  json_object_set_new(range, "limit", json_integer(1));
  json_object_set_new(range, "keys_only", json_true());
  int result = etcd_open(env, target, &target->endpoints[endpoint], deadline, &link);
  if (result == LB_OK) result = etcd_call(link, "/v3/kv/range", json_incref(range), deadline, &said);
  const json_t *key = json_object_get(json_array_get(json_object_get(said, "kvs"), 0), "key");
  if (result == LB_OK) result = key ? delete_key(link, key, deadline) : 0;
  etcd_close(link);
  json_decref(said);
  json_decref(range);
  return result > 1 ? -ETIMEDOUT : result;
}
