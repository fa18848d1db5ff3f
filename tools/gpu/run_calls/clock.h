#pragma once

/* Seconds since some moment. */
double secondsNow(void);
