/* A binary heap of events. */

#include "queue.h"

static int is_full(const struct queue *queue)
{
	return queue->length == QUEUE_SIZE;
}

static void swap(struct event *left, struct event *right)
{
	struct event kept = *left;

	*left = *right;
	*right = kept;
}

/* Of a parent and its children, the index of the earliest. */
static size_t pick(const struct queue *queue, size_t parent)
{
	size_t best = parent;

	for (size_t child = 2 * parent + 1; child <= 2 * parent + 2 && child < queue->length; child++)
		if (queue->heap[child].at < queue->heap[best].at)
			best = child;
	return best;
}

static void sift_up(struct queue *queue, size_t index)
{
	while (index > 0) {
		size_t parent = (index - 1) / 2;

		if (queue->heap[parent].at <= queue->heap[index].at)
			break;
		swap(&queue->heap[parent], &queue->heap[index]);
		index = parent;
	}
}

static void sift_down(struct queue *queue, size_t index)
{
	for (size_t best = pick(queue, index); best != index; best = pick(queue, index)) {
		swap(&queue->heap[best], &queue->heap[index]);
		index = best;
	}
}

void queue_init(struct queue *queue)
{
	queue->length = 0;
	queue->now = 0;
}

enum status queue_push(struct queue *queue, tick_t at, event_handler handler, void *context)
{
	if (is_full(queue))
		return STATUS_FULL;
	queue->heap[queue->length] = (struct event){ at, handler, context };
	sift_up(queue, queue->length++);
	return STATUS_OK;
}

enum status queue_step(struct queue *queue)
{
	struct event next;

	if (queue->length == 0)
		return STATUS_EMPTY;
	next = queue->heap[0];
	queue->heap[0] = queue->heap[--queue->length];
	sift_down(queue, 0);
	queue->now = next.at;
	next.handler(&next, next.context);
	return STATUS_OK;
}

size_t queue_run(struct queue *queue, tick_t until)
{
	size_t steps = 0;

	while (queue->length > 0 && queue->heap[0].at <= until && queue_step(queue) == STATUS_OK)
		steps++;
	return steps;
}
