/* Files of a call's folder. */
#pragma once

/* The contents, followed by a 0, in memory that the caller frees; NULL and a reason if the file cannot be read. */
char* readFile(const char* folder, const char* file, long long* bytes);
/* The same for a file that must have this many bytes. */
char* readExactly(const char* folder, const char* file, long long bytes);
