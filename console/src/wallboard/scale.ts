/** Scale of a display, so that a board with few parts fills the screen. */
import { useEffect, useState } from 'react';

/** Contents of the board that take space. */
export interface Content {
  readonly tiles: number;
  readonly agents: number;
  /** Callers or a chart are beside the tiles. */
  readonly side: boolean;
  readonly compact: boolean;
}
/** Few steps, so that the scale does not change with every agent. */
const STEPS = [1.5, 1.25];
/** Lengths of board.module.css in em at scale 1. */
const SCREEN = { width: 124, height: 69 } as const;
const SIDE_WIDTH = 24;
/** Callers with four rows, and the chart. */
const SIDE_HEIGHT = 30;
/** Head of the display, totals, formulas and gaps. */
const AROUND = 17;
const AGENT_HEIGHT = 4.4;

function fits({ tiles, agents, side, compact }: Content, width: number, height: number): boolean {
  const main = width - 4 - (side ? SIDE_WIDTH : 0);
  const rows = (count: number, least: number): number =>
    Math.ceil(count / Math.max(1, Math.floor(main / least)));
  const tileRows = rows(tiles, compact ? 14 : 20) * (compact ? 11 : 14);
  const agentRows = agents === 0 ? 0 : 4.5 + rows(agents, compact ? 13 : 17) * AGENT_HEIGHT;
  return Math.max(tileRows + agentRows, side ? SIDE_HEIGHT : 0) <= height - AROUND;
}
/** `em` is the size of an em at scale 1, in pixels. */
export function scaleOf(content: Content, screen: { width: number; height: number; em: number }): number {
  const { width, height, em } = screen;
  return STEPS.find((scale) => fits(content, width / em / scale, height / em / scale)) ?? 1;
}
const screenNow = () => {
  const { innerWidth: width, innerHeight: height } = window;
  const em = Math.min(Math.max(13, Math.min(width / SCREEN.width, height / SCREEN.height)), 84);
  return { width, height, em };
};
export function useScale(content: Content, on: boolean): number {
  const [screen, setScreen] = useState(screenNow);
  useEffect(() => {
    const look = (): void => setScreen(screenNow());
    addEventListener('resize', look);
    return () => removeEventListener('resize', look);
  }, []);
  return on ? scaleOf(content, screen) : 1;
}
