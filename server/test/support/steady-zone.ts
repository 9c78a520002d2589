/** Zones without daylight saving time, at whole and at half hours, half a day apart. */
const ZONES = { 'Africa/Abidjan': 0, 'Pacific/Tarawa': 720, 'Asia/Kolkata': 330, 'Pacific/Marquesas': -570 };
const HOUR_M = 60;
/** Last minute of an hour, and hours of a day, in which a test file still ends within the same hour and day. */
const [LAST_MINUTE, FROM_HOUR, TO_HOUR] = [44, 2, 20];

/** A time zone in which no hour and no day ends in the next quarter of an hour, for tests that count by hours and days. */
export function steadyZone(ms = Date.now()): string {
  const utc = Math.floor(ms / 60_000);
  const found = Object.entries(ZONES).find(([, ahead]) => {
    const minute = (((utc + ahead) % (24 * HOUR_M)) + 24 * HOUR_M) % (24 * HOUR_M);
    const hour = Math.floor(minute / HOUR_M);
    return minute % HOUR_M <= LAST_MINUTE && hour >= FROM_HOUR && hour <= TO_HOUR;
  });
  if (found === undefined) throw new Error(`no zone is steady at ${new Date(ms).toISOString()}`);
  return found[0];
}
