/* Which signal may ask the agent for a profile. The command and the agent use the same rule. */
#ifndef PD_AGENT_ASKING_H
#define PD_AGENT_ASKING_H

/* Returns NULL if the signal may ask for a profile, or else why not, as the end of a sentence that
 * begins with the signal's name. The agent takes a signal only where it would end the program. So
 * the signal must end a program by default, and somebody must send it on purpose. */
const char *pd_asking_refusal(int number);

#endif
