"""--started TIME: read exactly. worlds.py gives it in other locales and time zones.

The time of prev is the ruler: a start one nanosecond after it is a restart, a start at it is not.
"""

from datetime import datetime, timedelta, timezone

from pb import gz, profile
from samples import CUR, PREV, SECOND, T0, T1, pair

# Forms of the same moment, to the nanosecond: seconds since 1970, and how it can be written.
FORMS = [
    (T0, "2023-11-14T22:13:20Z"),
    (T0, "2023-11-14t22:13:20z"),
    (T0, "2023-11-14 22:13:20Z"),
    (T0, "2023-11-14T22:13:20.0Z"),
    (T0, "2023-11-14T23:13:20+01:00"),
    (T0, "2023-11-15T03:43:20+05:30"),
    (T0, "2023-11-14T13:13:20-09:00"),
    (T0, "2023-11-15T12:13:20.000000000+14:00"),
    (T0, "2023-11-14T22:13:20-00:00"),
    (T0, "@1700000000"),
    (T0, "@1700000000.000000000"),
    (T0, "@001700000000"),
    (T0 + 1, "2023-11-14T22:13:20.000000001Z"),
    (T0 + 1, "@1700000000.000000001"),
    (T0 + 1, "@1700000000.0000000019"),
    (T0 + 500_000_000, "2023-11-14T22:13:20.5Z"),
    (T0 + 120_000_000, "2023-11-14T23:13:20.12+01:00"),
    (951782400 * SECOND, "2000-02-29T00:00:00Z"),
    (1709164800 * SECOND, "2024-02-29T00:00:00Z"),
    (1704067199 * SECOND, "2023-12-31T23:59:59Z"),
    (1704067200 * SECOND, "2023-12-31T23:59:60Z"),
    (1, "1970-01-01T00:00:00.000000001Z"),
    (9223372036854775807, "2262-04-11T23:47:16.854775807Z"),
    (9223372036854775807, "@9223372036.854775807"),
]

WRONG = ["", "now", "2023-11-14", "2023-11-14T22:13:20", "2023-11-14T22:13Z", "22:13:20Z",
         "2023-11-14T22:13:20 Z", "2023-11-14T22:13:20+1:00", "2023-11-14T22:13:20+0100",
         "2023-11-14T22:13:20+24:00", "2023-11-14T22:13:20+01:60", "2023-13-14T22:13:20Z",
         "2023-00-14T22:13:20Z", "2023-11-31T22:13:20Z", "2023-02-29T00:00:00Z",
         "1900-02-29T00:00:00Z", "2023-11-00T22:13:20Z", "2023-11-14T24:00:00Z",
         "2023-11-14T22:60:20Z", "2023-11-14T22:13:61Z", "2023-11-14T22:13:20.Z",
         "2023-11-14T22:13:20,5Z", "2023-11-14T22:13:20Zx", " 2023-11-14T22:13:20Z",
         "23-11-14T22:13:20Z", "2023-1-14T22:13:20Z", "2262-04-11T23:47:16.854775808Z",
         "9999-12-31T23:59:59Z", "1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z", "@", "@x", "@-1",
         "@+1", "@1.", "@.5", "@1e9", "@0", "@9223372037", "@99999999999999999999999", "1700000000",
         "2023-11-14T22:13:20UTC", "２０２３-11-14T22:13:20Z"]


def is_restart(t, ruler, text):
    t.write("prev", gz(profile(PREV, time=ruler)))
    t.write("cur", gz(profile(CUR, time=0)))
    result = t.succeeds("prev", "cur", "--started", text)
    return "a restart" in result.err


def test_every_form_is_exact(t):
    for nanos, text in FORMS:
        t.check(not is_restart(t, nanos, text), f"{text} is after {nanos}")
        if nanos > 1:
            t.check(is_restart(t, nanos - 1, text), f"{text} is not after {nanos - 1}")


def test_many_days_agree_with_the_calendar(t):
    zone = timezone(timedelta(hours=-3, minutes=-30))
    for days in range(1, 92000, 4567):
        when = datetime(1970, 1, 1, 13, 14, 15, tzinfo=zone) + timedelta(days=days)
        nanos = int(when.timestamp()) * SECOND
        t.check(not is_restart(t, nanos, when.isoformat()), f"{when} is after {nanos}")
        t.check(is_restart(t, nanos - 1, when.isoformat()), f"{when} is not after {nanos - 1}")


def test_wrong_forms_are_refused(t):
    names = pair(t)
    for text in WRONG:
        result = t.fails(2, *names, f"--started={text}")
        t.contains(" ".join(result.err.split()), "--started=", "2026-11-21T08:00:00Z", "@SECONDS")


def test_a_start_after_prev_is_said(t):
    result = t.succeeds(*pair(t), "--started=2023-11-14T22:13:30Z")
    t.equal(result.err, "pprofdelta: note: cur.pb.gz: a restart since prev.pb.gz: the program started after the "
                        "first profile was taken; the delta counts from zero\n")


def test_a_time_that_is_not_known_cannot_be_passed(t):
    t.write("prev", gz(profile(PREV, time=0)))
    t.write("cur", gz(profile(CUR, time=T1)))
    t.equal(t.succeeds("prev", "cur", "--started=@1700000000").err, "")
