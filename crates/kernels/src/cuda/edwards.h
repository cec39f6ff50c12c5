// Points of the curve -x² + y² = 1 + d·x²·y² in extended coordinates, and one secret scalar times a point.
//
// The formulas are complete on this curve (Hisil, Wong, Carter, Dawson 2008, sections 3.1 and 3.3), so that no point
// needs a branch.

#ifndef VESICA_EDWARDS_H
#define VESICA_EDWARDS_H

// x = X/Z, y = Y/Z, x·y = T/Z.
typedef struct {
    Field x, y, z, t;
} Point;

// A point that is added often: Y + X, Y - X, Z, 2d·T.
typedef struct {
    Field y_plus_x, y_minus_x, z, t_2d;
} Summand;

// x = X/Z, y = Y/T.
typedef struct {
    Field x, y, z, t;
} Fractions;

// Bits of a window, windows of a scalar below 2^255, and multiples in a table.
#define WIDTH 4
#define WINDOWS 64
#define MULTIPLES 8

FUNCTION Field edwards_d(void) {
    return field_of(0x135978a3u, 0x75eb4dcau, 0x4141d8abu, 0x00700a4du, 0x7779e898u, 0x8cc74079u, 0x2b6ffe73u,
                    0x52036ceeu);
}

FUNCTION Field edwards_2d(void) {
    return field_of(0x26b2f159u, 0xebd69b94u, 0x8283b156u, 0x00e0149au, 0xeef3d130u, 0x198e80f2u, 0x56dffce7u,
                    0x2406d9dcu);
}

// The point of these fractions; T only where it is asked for, and otherwise as it was.
FUNCTION void point_of(Point *point, Fractions of, int with_t) {
    point->x = field_mul(of.x, of.t);
    point->y = field_mul(of.y, of.z);
    point->z = field_mul(of.z, of.t);
    if (with_t) {
        point->t = field_mul(of.x, of.y);
    }
}

FUNCTION Fractions point_double(const Point *point) {
    const Field xx = field_square(point->x);
    const Field yy = field_square(point->y);
    const Field zz = field_square(point->z);
    const Field both = field_square(field_add(point->x, point->y));
    Fractions sum;
    sum.y = field_add(yy, xx);
    sum.z = field_sub(yy, xx);
    sum.x = field_sub(both, sum.y);
    sum.t = field_sub(field_add(zz, zz), sum.z);
    return sum;
}

FUNCTION Fractions point_add(const Point *point, Summand other) {
    const Field plus = field_mul(field_add(point->y, point->x), other.y_plus_x);
    const Field minus = field_mul(field_sub(point->y, point->x), other.y_minus_x);
    const Field tt = field_mul(point->t, other.t_2d);
    const Field zz = field_mul(point->z, other.z);
    const Field zz2 = field_add(zz, zz);
    Fractions sum;
    sum.x = field_sub(plus, minus);
    sum.y = field_add(plus, minus);
    sum.z = field_add(zz2, tt);
    sum.t = field_sub(zz2, tt);
    return sum;
}

FUNCTION Summand summand_of(const Point *point) {
    Summand summand;
    summand.y_plus_x = field_add(point->y, point->x);
    summand.y_minus_x = field_sub(point->y, point->x);
    summand.z = point->z;
    summand.t_2d = field_mul(point->t, edwards_2d());
    return summand;
}

// The sum of two points, for what an element needs a few times: called, so that there is less to compile.
CALLED void point_add_once(const Point *point, const Summand *other, Point *sum) {
    point_of(sum, point_add(point, *other), 1);
}

FUNCTION Summand summand_select(Mask mask, const Summand *a, Summand b) {
    b.y_plus_x = field_select(mask, a->y_plus_x, b.y_plus_x);
    b.y_minus_x = field_select(mask, a->y_minus_x, b.y_minus_x);
    b.z = field_select(mask, a->z, b.z);
    b.t_2d = field_select(mask, a->t_2d, b.t_2d);
    return b;
}

// digit·P for a secret digit from -8 to 7 and the table of 1P to 8P. Every entry is read, whatever the digit is.
FUNCTION Summand summand_look_up(const Summand *table, u32 digit) {
    const Mask negative = mask_of_bit(digit >> 31);
    const u32 magnitude = (digit ^ negative) - negative;
    Summand found;
    found.y_plus_x = found.y_minus_x = found.z = field_small(1);
    found.t_2d = field_small(0);
    ROLLED for (u32 multiple = 1; multiple <= MULTIPLES; ++multiple) {
        found = summand_select(mask_equal(multiple, magnitude), &table[multiple - 1], found);
    }
    Summand opposite;
    opposite.y_plus_x = found.y_minus_x;
    opposite.y_minus_x = found.y_plus_x;
    opposite.z = found.z;
    opposite.t_2d = field_negate(found.t_2d);
    return summand_select(negative, &opposite, found);
}

// scalar·P for a secret scalar below 2^253.
//
// Adding 8·(1 + 16 + … + 16^63) makes the windows of four bits digits from -8 to 7, with an offset of 8. The time and
// all addresses are the same for every scalar: conditions and indices below are counters.
FUNCTION Point point_multiply(const u32 *scalar, Point point) {
    Summand table[MULTIPLES];
    table[0] = summand_of(&point);
    ROLLED for (int i = 1; i < MULTIPLES; ++i) {
        Point sum;
        point_add_once(&point, &table[i - 1], &sum);
        table[i] = summand_of(&sum);
    }
    u32 windows[8];
    Carry carry = 0;
    windows[0] = add_first(scalar[0], 0x88888888u, &carry);
    UNROLLED for (int i = 1; i < 8; ++i) {
        windows[i] = add_next(scalar[i], 0x88888888u, &carry);
    }
    Point sum;
    sum.x = sum.t = field_small(0);
    sum.y = sum.z = field_small(1);
    ROLLED for (int window = 0; window < WINDOWS; ++window) {
        ROLLED for (int i = 1; i <= WIDTH; ++i) {
            point_of(&sum, point_double(&sum), i == WIDTH);
        }
        const u32 digit = (windows[7] >> (32 - WIDTH)) - 8;
        point_of(&sum, point_add(&sum, summand_look_up(table, digit)), window == WINDOWS - 1);
        UNROLLED for (int i = 7; i > 0; --i) {
            windows[i] = windows[i] << WIDTH | windows[i - 1] >> (32 - WIDTH);
        }
        windows[0] <<= WIDTH;
    }
    return sum;
}

#endif
