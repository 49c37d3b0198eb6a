/* Level lite: puts together what one client sent and was answered, a batch, and keeps some of them to tell
 * them as one event. All calls are for the thread that Redis lets work on the client, but where said. Not
 * thread safe for one client: Redis is not either. */
#ifndef SLOWPATH_REDIS_BATCH_H
#define SLOWPATH_REDIS_BATCH_H

#include "image.h"
#include "transfer.h"

/* Are batches put together now? Changes at safe points only. */
extern int batch_recording;

/* Makes room; once. */
reason batch_prepare(void);

/* At safe points, in the main thread: `on`: an event of any level is recorded; `batches`: those of
 * lite. Tells batches that have waited too long, and has names and addresses told again. */
void batch_look(int on, int batches);

/* For the main thread while the others are idle: nonzero: batches are kept. */
int batch_turn_end(void);
/* For the main thread: tells those that are kept; ticks of now. */
uint64_t batch_tell_kept(void);

/* Tells the client's address if it was not of late; of one that has just connected. */
void batch_tell_client(int fd, uint64_t client_id);
void batch_tell_new_client(int fd, uint64_t client_id);
/* The same of a link to another node of the cluster. */
void batch_tell_link(int fd, const void *link);

/* Around a read. The transfer is the read's. */
void batch_read_begin(int fd, uint64_t client_id);
void batch_read_end(const struct transfer *transfer, uint64_t client_id);

/* Around a command; the end is told what the begin answered, if not NULL, and the command's structure, NULL:
 * unknown. */
struct batch *batch_command_begin(int fd, uint64_t client_id);
void batch_command_end(struct batch *batch, uint64_t client_id, void *command);
/* Instead of the end: Redis has put the command off and will begin it again. */
void batch_command_postponed(struct batch *batch, uint64_t client_id);

/* Around a write; `more`: replies are left. */
void batch_write_begin(int fd, uint64_t client_id);
void batch_write_end(const struct transfer *transfer, uint64_t client_id, int more);

/* The client is about to be freed. */
void batch_client_freed(int fd, uint64_t client_id);

#endif
