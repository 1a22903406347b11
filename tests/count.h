/* The length of an array. */
#ifndef TESTS_COUNT_H
#define TESTS_COUNT_H

#define COUNT(array) (sizeof(array) / sizeof *(array))

#endif
