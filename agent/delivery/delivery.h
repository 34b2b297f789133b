/* Delivers a profile of one window: takes it from the tracker and writes it to a file or hands it
 * to the command. Only one thread delivers at a time. */
#ifndef PD_AGENT_DELIVERY_H
#define PD_AGENT_DELIVERY_H

#include <stdbool.h>

typedef enum pd_occasion {
    PD_DELIVER_ON_TIME,
    PD_DELIVER_ASKED, /* by the signal: also if nothing changed */
    PD_DELIVER_LAST   /* the program ends */
} pd_occasion;

/* Delivers the events since the last delivery. Events that could not be delivered are in the next
 * profile, and a message is written once. If another thread delivers, does nothing and returns false.
 * After true no other thread can deliver until pd_delivery_release. A window in which nothing changed
 * is not written, unless it was asked for. The last one waits for another thread for as long as a delivery may
 * take; if it does not arrive, a message says whether it is lost or can be recovered. */
bool pd_delivery_send(pd_occasion why);
void pd_delivery_release(void);

/* Keeps other threads from a delivery, for other work on what is delivered. If one delivers, waits for so
 * long at most. Release it if this returned true. */
bool pd_delivery_hold(unsigned milliseconds);

/* Has everything up to the last window been delivered? */
bool pd_delivery_has_all(void);

/* Returns how many milliseconds one delivery may take. */
unsigned pd_delivery_max_millis(void);

#endif
