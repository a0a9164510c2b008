#ifndef RAILYARD_QUEUE_H
#define RAILYARD_QUEUE_H

/* Events in order of their time: a binary heap. */

#include "types.h"

#define QUEUE_SIZE 64

struct event;

typedef void (*event_handler)(const struct event *event, void *context);

struct event {
	tick_t at;
	event_handler handler;
	void *context;
};

struct queue {
	struct event heap[QUEUE_SIZE];
	size_t length;
	tick_t now;
};

void queue_init(struct queue *queue);
enum status queue_push(struct queue *queue, tick_t at, event_handler handler, void *context);
enum status queue_step(struct queue *queue);
size_t queue_run(struct queue *queue, tick_t until);

#endif
