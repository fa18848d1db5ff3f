/* The figures of a run, written as JSON. */
#pragma once

/* Opens the file. 0 and a reason: it cannot be written. NULL: nothing is written. */
int openReport(const char* path);
/* Before another process writes. */
void flushReport(void);
/* One member of the current object: text, or a number. */
void reportText(const char* name, const char* value);
void reportNumber(const char* name, double value);
/* `name` is NULL in lists. */
void beginObject(const char* name);
void endObject(void);
void beginList(const char* name);
void endList(void);
/* 0 and a reason: not everything could be written. */
int closeReport(void);
