/* Types of elements, by their names in call.txt. */
#pragma once

/* Bytes of an element; 0: there is no such type. Types of less than 8 bits take whole bytes. */
int bytesOf(const char* type);
/* Whether `toDouble` knows the type. */
int isFloat(const char* type);
double toDouble(const char* type, const char* at);
/* The nearest number of the type, of two the one whose last bit is 0, which is written to `at`. For f32, bf16 and
 * f8e4m3fn. */
void fromDouble(const char* type, double value, char* at);
int canRound(const char* type);
