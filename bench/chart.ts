/** Charts of a page: the distance of each gate's value from its limit, and the growth of costs. */
import { digits } from './lib.ts';
import type { Gate, Growth, Verdict } from './lib.ts';

const COLOURS: Readonly<Record<Verdict, string>> = {
  held: '#1a7f4b',
  broken: '#c0392b',
  undecided: '#8a6d00',
};
const LINES = ['#1f6feb', '#c0392b', '#1a7f4b', '#8a6d00', '#7b3fa0', '#0d7d8c', '#b4531a', '#5b6470'];
const WIDTH = 960;
const FONT = 'font-family="system-ui, sans-serif" font-size="12"';

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
const text = (x: number, y: number, words: string, more = ''): string =>
  `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ${more}>${escaped(words)}</text>`;
const line = (x1: number, y1: number, x2: number, y2: number, colour: string, width = 1): string =>
  `<line x1="${x1.toFixed(1)}" y1="${y1.toFixed(1)}" x2="${x2.toFixed(1)}" y2="${y2.toFixed(1)}" stroke="${colour}" stroke-width="${width}"/>`;
const picture = (height: number, title: string, parts: readonly string[]): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" role="img" ${FONT}>
<title>${escaped(title)}</title>
<rect width="100%" height="100%" fill="#ffffff"/>
${parts.join('\n')}
</svg>
`;

/** Beyond this factor a gate is drawn at the edge. */
const MOST = 16;
const LABELS = 520;
/** Factor by which a value is better than its gate asks: 1 just holds, less is broken. */
const better = ({ is, asked }: Gate, value: number): number =>
  is === 'at most' ? asked / value : value / asked;

export function gatesChart(gates: readonly (Gate & { readonly row: string })[]): string {
  const [left, right, step] = [LABELS + 30, WIDTH - 50, 20];
  const drawn = gates.filter(({ asked, measured }) => asked > 0 && Number.isFinite(measured.median));
  const at = (factor: number): number => {
    const share = Math.log(Math.min(Math.max(factor, 1 / MOST), MOST)) / Math.log(MOST);
    return (left + right) / 2 + (share * (right - left)) / 2;
  };
  const bottom = 30 + drawn.length * step;
  const axis = [1 / 16, 1 / 4, 1, 4, 16].flatMap((factor) => [
    line(at(factor), 24, at(factor), bottom, factor === 1 ? '#333333' : '#dddddd'),
    text(
      at(factor),
      16,
      factor === 1 ? 'as asked' : factor < 1 ? `${1 / factor}× worse` : `${factor}× better`,
      'text-anchor="middle" fill="#555555"',
    ),
  ]);
  const rows = drawn.flatMap((gate, i) => {
    const y = 40 + i * step;
    const colour = COLOURS[gate.verdict];
    const { low, high, median } = gate.measured;
    return [
      text(LABELS, y + 4, `${gate.row}: ${gate.what}`.slice(0, 88), 'text-anchor="end" fill="#222222"'),
      line(at(better(gate, low)), y, at(better(gate, high)), y, colour, 3),
      `<circle cx="${at(better(gate, median)).toFixed(1)}" cy="${y}" r="4.5" fill="${colour}"/>`,
    ];
  });
  return picture(bottom + 10, 'Gates: how far each is from what is asked', [...axis, ...rows]);
}

/** Cost over size, both logarithmic, as a multiple of the cost at the smallest size. */
export function growthChart(all: readonly Growth[]): string {
  const [left, right, top, bottom] = [60, 520, 20, 340];
  const sizes = all.flatMap(({ points }) => points.map(([size]) => size));
  const shares = all.flatMap(({ points }) => points.map(([, value]) => value / points[0]![1]));
  const [least, most] = [Math.min(...sizes), Math.max(...sizes)];
  const [low, high] = [Math.min(1, ...shares), Math.max(10, ...shares)];
  const x = (size: number): number =>
    left + (Math.log(size / least) / Math.log(most / least)) * (right - left);
  const y = (share: number): number =>
    bottom - (Math.log(share / low) / Math.log(high / low)) * (bottom - top);
  const decades: number[] = [];
  for (let size = 10 ** Math.ceil(Math.log10(least)); size <= most; size *= 10) decades.push(size);
  const levels: number[] = [];
  for (let share = 1; share <= high; share *= 10) levels.push(share);
  const parts = [
    ...decades.flatMap((size) => [
      line(x(size), top, x(size), bottom, '#dddddd'),
      text(x(size), bottom + 18, size.toLocaleString('en-GB'), 'text-anchor="middle" fill="#555555"'),
    ]),
    ...levels.flatMap((share) => [
      line(left, y(share), right, y(share), share === 1 ? '#333333' : '#dddddd'),
      text(left - 6, y(share) + 4, `${share}×`, 'text-anchor="end" fill="#555555"'),
    ]),
    ...all.flatMap(({ name, unit, points }, i) => {
      const colour = LINES[i % LINES.length]!;
      const first = points[0]![1];
      const path = points
        .map(([size, value]) => `${x(size).toFixed(1)},${y(value / first).toFixed(1)}`)
        .join(' ');
      const ends = `${digits(first)} to ${digits(points.at(-1)![1])} ${unit}`;
      return [
        `<polyline points="${path}" fill="none" stroke="${colour}" stroke-width="2"/>`,
        ...points.map(
          ([size, value]) =>
            `<circle cx="${x(size).toFixed(1)}" cy="${y(value / first).toFixed(1)}" r="3" fill="${colour}"/>`,
        ),
        text(right + 20, top + 12 + i * 20, `${name}: ${ends}`.slice(0, 68), `fill="${colour}"`),
      ];
    }),
  ];
  return picture(
    Math.max(bottom + 30, top + 20 + all.length * 20),
    'Cost over size, as a multiple of the cost at the smallest size',
    parts,
  );
}
