/* Is what a stack allocates a leak? See leaks_survival.h. */
#include "leaks/leaks_survival.h"

/* A cohort of point b is seen at the ages 0 to points - 1 - b. */
cli_leaks_ages cli_leaks_survive(const cli_leaks_cohorts *cohorts, size_t points)
{
    cli_leaks_ages ages = {.len = points};
    double share = 1;
    for (size_t born = 0; born < points; born++) {
        double left = cohorts->births[born];
        for (size_t died = born; died < points; died++) {
            double gone = cohorts->deaths[cli_leaks_cell(born, died)];
            ages.at_risk[died - born] += left;
            ages.died[died - born] += gone;
            left = left > gone ? left - gone : 0;
        }
    }
    for (size_t age = 0; age < points; age++) {
        if (ages.at_risk[age] > 0)
            share *= 1 - ages.died[age] / ages.at_risk[age];
        ages.alive[age] = share;
    }
    return ages;
}
