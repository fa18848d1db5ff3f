/* Elements of arrays that are not stored: pseudorandom, the same on every machine.
 *
 * Element i of array n of a call is centre + radius u, rounded to the array's type. u in [-1, 1) consists of 24 bits of
 * a hash of n and of i modulo kPeriod, which is prime: rows of an array differ, and a table of one period gives every
 * element. */
#pragma once

enum { kPeriod = 1048573 };

struct Generator {
  int array;
  char type[16];
  double centre, radius;
};

/* One period as bytes of the array's type, which the caller frees; NULL and a reason: there is no memory. */
char* onePeriod(const struct Generator*);
