/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.c - /metrics and /healthz over HTTP: a thread of libmicrohttpd's, GET alone, nothing that changes anything.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <string.h>

#include "sync/sync.h"

enum { MAX_CONNECTIONS = 32, TIMEOUT_SECONDS = 10 };

static enum MHD_Result answer_text(struct MHD_Connection *connection, unsigned status, const char *type,
                                   const char *text, size_t n)
{
    /* the library copies; its signature is from before const */
    struct MHD_Response *response = MHD_create_response_from_buffer(n, (void *)(uintptr_t)text, MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    enum MHD_Result result = MHD_add_response_header(response, "Content-Type", type);
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        result = MHD_add_response_header(response, "Allow", "GET, HEAD");
    if (result == MHD_YES)
        result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

/* @thread libmicrohttpd's */
static enum MHD_Result answer(void *context, struct MHD_Connection *connection, const char *url, const char *method,
                              const char *version, const char *upload, size_t *upload_size, void **state)
{
    static const char get_only[] = "GET alone\n", nothing[] = "there are /metrics and /healthz\n";
    lcdc_sync *sync = context;
    LC_BUF struct lc_buf text = {.max = LC_BUF_MAX};
    unsigned status = MHD_HTTP_OK;
    const char *type = "text/plain; version=0.0.4; charset=utf-8";
    (void)version;
    (void)upload;
    (void)state;
    if (*upload_size) {
        *upload_size = 0;
        return MHD_YES;
    }
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return answer_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain", get_only, sizeof(get_only) - 1);
    if (strcmp(url, "/metrics") == 0) {
        lc_metrics_print(sync, &text);
    } else if (strcmp(url, "/healthz") == 0) {
        type = "application/json";
        status = lc_metrics_health(sync, &text) ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE;
    } else {
        return answer_text(connection, MHD_HTTP_NOT_FOUND, "text/plain", nothing, sizeof(nothing) - 1);
    }
    return text.failed ? MHD_NO : answer_text(connection, status, type, text.p, text.n);
}

static bool read_address(const struct lc_config *config, struct sockaddr_in *four, struct sockaddr_in6 *six,
                         bool *is_six)
{
    const char *host = strcmp(config->listen_host, "localhost") == 0 ? "127.0.0.1" : config->listen_host;
    four->sin_family = AF_INET;
    four->sin_port = htons((uint16_t)config->listen_port);
    six->sin6_family = AF_INET6;
    six->sin6_port = four->sin_port;
    *is_six = inet_pton(AF_INET6, host, &six->sin6_addr) == 1;
    return *is_six || inet_pton(AF_INET, host, &four->sin_addr) == 1;
}

lcdc_status lc_metrics_open(struct lcdc_sync *sync, lcdc_error **err)
{
    const struct lc_config *config = &sync->config;
    struct sockaddr_in four = {0};
    struct sockaddr_in6 six = {0};
    bool is_six;
    char text[256];
    if (!config->listen_port)
        return LCDC_OK;
    if (!read_address(config, &four, &six, &is_six))
        return lc_fail(err, LC_R_HTTP_LISTEN,
                       "metrics: %.100s is not an address of this machine; expected one such as "
                       "127.0.0.1",
                       config->listen_host);
    errno = 0;
    sync->metrics.server = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | (is_six ? MHD_USE_IPv6 : 0), 0, NULL, NULL, answer, sync,
        MHD_OPTION_SOCK_ADDR, is_six ? (void *)&six : (void *)&four, MHD_OPTION_CONNECTION_LIMIT,
        (unsigned)MAX_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_SECONDS, MHD_OPTION_END);
    if (sync->metrics.server)
        return LCDC_OK;
    return lc_fail(err, LC_R_HTTP_LISTEN, "metrics: %.100s port %d cannot be listened on: %s", config->listen_host,
                   config->listen_port, strerror_r(errno, text, sizeof(text)));
}

void lc_metrics_close(struct lcdc_sync *sync)
{
    if (sync->metrics.server)
        MHD_stop_daemon(sync->metrics.server);
    sync->metrics.server = NULL;
}
