/* A library that is loaded while a recorder is at work: its program counters fall outside
 * everything that the recorder knows by then. */
int late_work(int value);

int late_work(int value)
{
    return value * 3 + 1;
}
