/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server of a few lines answers on the loopback interface; what it does depends on the path it is asked for.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "io/http.h"

static struct {
    int socket;
    unsigned port;
    pthread_t thread;
    pthread_mutex_t mutex;
    char request[8192]; /* the last one, whole; under the mutex */
} server = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void send_text(int peer, const char *text)
{
    (void)!send(peer, text, strlen(text), MSG_NOSIGNAL);
}

static void send_big(int peer)
{
    static char zeros[1 << 16];
    send_text(peer, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
    for (int i = 0; i < (LC_HTTP_MAX_BODY >> 16) + 2; i++)
        if (send(peer, zeros, sizeof(zeros), MSG_NOSIGNAL) < 0)
            return;
}

/* Reads head and body as far as Content-Length says. */
static void read_request(int peer)
{
    size_t n = 0, want = SIZE_MAX;
    memset(server.request, 0, sizeof(server.request));
    while (n < want && n + 1 < sizeof(server.request)) {
        ssize_t got = recv(peer, server.request + n, sizeof(server.request) - 1 - n, 0);
        if (got <= 0)
            return;
        n += (size_t)got;
        const char *end = strstr(server.request, "\r\n\r\n"), *length = strstr(server.request, "Content-Length: ");
        if (end)
            want = (size_t)(end + 4 - server.request) + (length ? (size_t)strtoul(length + 16, NULL, 10) : 0);
    }
}

static void answer(int peer)
{
    char text[512];
    char path[64] = "";
    (void)pthread_mutex_lock(&server.mutex);
    read_request(peer);
    (void)sscanf(server.request, "%*s %63s", path);
    (void)pthread_mutex_unlock(&server.mutex);
    if (strcmp(path, "/ok?token=secret") == 0 || strcmp(path, "/ok") == 0) {
        send_text(peer, "HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{\"ok\":true}");
    } else if (strcmp(path, "/empty") == 0) {
        send_text(peer, "HTTP/1.1 204 No Content\r\n\r\n");
    } else if (strcmp(path, "/missing") == 0) {
        send_text(peer, "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\ngone");
    } else if (strcmp(path, "/moved") == 0) {
        (void)snprintf(text, sizeof(text),
                       "HTTP/1.1 307 T\r\nContent-Length: 0\r\nLocation: http://127.0.0.1:%u/ok\r\n\r\n", server.port);
        send_text(peer, text);
    } else if (strcmp(path, "/loop") == 0) {
        send_text(peer, "HTTP/1.1 302 F\r\nContent-Length: 0\r\nLocation: /loop\r\n\r\n");
    } else if (strcmp(path, "/file") == 0) {
        send_text(peer, "HTTP/1.1 302 F\r\nContent-Length: 0\r\nLocation: file:///etc/hostname\r\n\r\n");
    } else if (strcmp(path, "/cut") == 0) {
        send_text(peer, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this");
    } else if (strcmp(path, "/big") == 0) {
        send_big(peer);
    } else if (strcmp(path, "/slow") == 0) {
        (void)usleep(600000);
    }
    (void)close(peer);
}

static void *serve(void *unused)
{
    (void)unused;
    for (;;) {
        int peer = accept(server.socket, NULL, NULL);
        if (peer < 0)
            return NULL;
        answer(peer);
    }
}

static int start_server(void **state)
{
    (void)state;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t n = sizeof(address);
    (void)setenv("no_proxy", "127.0.0.1", 1);
    server.socket = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(server.socket, (struct sockaddr *)&address, n) || listen(server.socket, 10) ||
        getsockname(server.socket, (struct sockaddr *)&address, &n))
        return -1;
    server.port = ntohs(address.sin_port);
    return pthread_create(&server.thread, NULL, serve, NULL);
}

static int stop_server(void **state)
{
    (void)state;
    (void)shutdown(server.socket, SHUT_RDWR);
    (void)pthread_join(server.thread, NULL);
    return close(server.socket);
}

static bool has_received(const char *text)
{
    (void)pthread_mutex_lock(&server.mutex);
    bool found = strstr(server.request, text) != NULL;
    (void)pthread_mutex_unlock(&server.mutex);
    return found;
}

static const char *url_of(const char *path)
{
    static char url[256];
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u%s", server.port, path);
    return url;
}

static lcdc_status get(const char *path, struct lc_http_response *out, lcdc_error **err)
{
    struct lc_http_request request = {.method = "GET", .url = url_of(path), .timeout_ms = 5000};
    return lc_http(&request, out, err);
}

static void answers_come_with_status_and_body(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        int status;
        const char *body;
    } cases[] = {{"/ok", 200, "{\"ok\":true}"},
                 {"/empty", 204, ""},
                 {"/missing", 404, "gone"},
                 {"/moved", 200, "{\"ok\":true}"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        LC_CLEANUP(lc_http_response_done) struct lc_http_response response = {0};
        assert_int_equal(get(cases[i].path, &response, NULL), LCDC_OK);
        assert_int_equal(response.status, cases[i].status);
        assert_string_equal(response.body.p, cases[i].body);
    }
}

static void method_headers_and_body_are_sent(void **state)
{
    (void)state;
    static const char *const headers[] = {"Authorization: Bearer abc", "Content-Type: application/json"};
    struct lc_http_request request = {
        .method = "POST", .url = url_of("/ok"), .n_headers = 2, .headers = headers, .body = LC_STR("{\"a\":1}")};
    LC_CLEANUP(lc_http_response_done) struct lc_http_response response = {0};
    assert_int_equal(lc_http(&request, &response, NULL), LCDC_OK);
    assert_true(has_received("POST /ok HTTP/1.1\r\n"));
    assert_true(has_received("Authorization: Bearer abc\r\n"));
    assert_true(has_received("Content-Type: application/json\r\n"));
    assert_true(has_received("User-Agent: lakecdc/"));
    assert_true(has_received("\r\n\r\n{\"a\":1}"));
    lc_http_response_done(&response);
    request = (struct lc_http_request){.method = "DELETE", .url = url_of("/empty")};
    assert_int_equal(lc_http(&request, &response, NULL), LCDC_OK);
    assert_true(has_received("DELETE /empty HTTP/1.1\r\n"));
}

static void a_body_is_not_sent_on_by_a_redirect(void **state)
{
    (void)state;
    struct lc_http_request request = {.method = "POST", .url = url_of("/moved"), .body = LC_STR("client_secret=x")};
    LC_CLEANUP(lc_http_response_done) struct lc_http_response response = {0};
    assert_int_equal(lc_http(&request, &response, NULL), LCDC_OK);
    assert_int_equal(response.status, 307);
}

static void assert_fails(const char *path, lcdc_status expected, const char *reason)
{
    LC_CLEANUP(lcdc_error_freep) lcdc_error *err = NULL;
    struct lc_http_response response = {.status = -1};
    assert_int_equal(get(path, &response, &err), expected);
    assert_string_equal(lcdc_error_reason(err), reason);
    assert_non_null(strstr(lcdc_error_message(err), "127.0.0.1"));
    assert_int_equal(response.status, -1);
    assert_null(response.body.p);
}

static void what_is_no_answer_is_an_error(void **state)
{
    (void)state;
    assert_fails("/loop", LCDC_UNAVAILABLE, "http.failed");
    assert_fails("/file", LCDC_UNAVAILABLE, "http.failed");
    assert_fails("/cut", LCDC_UNAVAILABLE, "http.failed");
    assert_fails("/nothing", LCDC_UNAVAILABLE, "http.failed");
    assert_fails("/big", LCDC_LIMIT, "limit");
}

static void time_runs_out_and_queries_are_not_told(void **state)
{
    (void)state;
    LC_CLEANUP(lcdc_error_freep) lcdc_error *err = NULL;
    struct lc_http_request request = {.method = "GET", .url = url_of("/slow?token=secret"), .timeout_ms = 150};
    struct lc_http_response response = {0};
    assert_int_equal(lc_http(&request, &response, &err), LCDC_UNAVAILABLE);
    assert_true(lcdc_error_retriable(err));
    assert_null(strstr(lcdc_error_message(err), "secret"));
    LC_CLEANUP(lcdc_error_freep) lcdc_error *refused = NULL;
    request.url = "http://127.0.0.1:1/x?token=secret";
    assert_int_equal(lc_http(&request, &response, &refused), LCDC_UNAVAILABLE);
    assert_null(strstr(lcdc_error_message(refused), "secret"));
}

static void bad_requests_are_refused(void **state)
{
    (void)state;
    static const char *const urls[] = {"",
                                       "ftp://x/",
                                       "file:///etc/hostname",
                                       "127.0.0.1",
                                       "http://u:secret@127.0.0.1/",
                                       "http://127.0.0.1/a b",
                                       "http://127.0.0.1/\n",
                                       "http://"};
    static const char *const header = "X-Token: secret\r\nHost: elsewhere";
    struct lc_http_response response = {0};
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        LC_CLEANUP(lcdc_error_freep) lcdc_error *err = NULL;
        struct lc_http_request request = {.method = "GET", .url = urls[i]};
        assert_int_equal(lc_http(&request, &response, &err), LCDC_INVALID_ARGUMENT);
        assert_string_equal(lcdc_error_reason(err), "io.bad_url");
        assert_null(strstr(lcdc_error_message(err), "secret"));
    }
    LC_CLEANUP(lcdc_error_freep) lcdc_error *err = NULL;
    struct lc_http_request request = {.method = "GET", .url = url_of("/ok"), .n_headers = 1, .headers = &header};
    assert_int_equal(lc_http(&request, &response, &err), LCDC_INVALID_ARGUMENT);
    assert_string_equal(lcdc_error_message(err), "the value of header \"X-Token\" has a line break in it");
}

static void every_allocation_of_ours_may_fail(void **state)
{
    (void)state;
    for (int64_t n = 0;; n++) {
        LC_CLEANUP(lc_http_response_done) struct lc_http_response response = {0};
        (void)lc_alloc_fail_after(n);
        lcdc_status status = get("/ok", &response, NULL);
        (void)lc_alloc_fail_after(-1);
        if (status == LCDC_OK) {
            assert_true(n > 0);
            return;
        }
        assert_int_equal(status, LCDC_OUT_OF_MEMORY);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_come_with_status_and_body),      cmocka_unit_test(method_headers_and_body_are_sent),
        cmocka_unit_test(a_body_is_not_sent_on_by_a_redirect),    cmocka_unit_test(what_is_no_answer_is_an_error),
        cmocka_unit_test(time_runs_out_and_queries_are_not_told), cmocka_unit_test(bad_requests_are_refused),
        cmocka_unit_test(every_allocation_of_ours_may_fail),
    };
    return cmocka_run_group_tests(tests, start_server, stop_server);
}
