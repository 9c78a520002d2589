import type { ReactNode } from 'react';
import encodeQR from 'qr';

/** White margin around the code, in modules: scanners need four. */
const QUIET = 4;

/** A QR code as one path; dark on white in every colour scheme, as scanners expect. */
export function QrCode({ text, label }: { readonly text: string; readonly label: string }): ReactNode {
  const rows = encodeQR(text, 'raw', { ecc: 'medium', border: QUIET });
  const size = rows.length;
  const path = rows.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : ''))).join('');
  return (
    <svg
      role="img"
      aria-label={label}
      viewBox={`0 0 ${size} ${size}`}
      width={220}
      height={220}
      shapeRendering="crispEdges"
    >
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}
