import type { ReactNode } from 'react';
import { Redirect } from 'wouter';
import { useMe } from './app/session.tsx';
import { PAGE_PATHS } from './app/paths.ts';
import { isDismissed } from './welcome/dismissed.ts';

const HOME = {
  user: PAGE_PATHS.directory,
  agent: PAGE_PATHS.desk,
  supervisor: PAGE_PATHS.wallboard,
  admin: PAGE_PATHS.welcome,
} as const;
/** Start page of each person, by level. */
export function HomePage(): ReactNode {
  const { level, extension } = useMe();
  const path = level === 'admin' && isDismissed(extension) ? PAGE_PATHS.wallboard : HOME[level];
  return <Redirect to={path} replace />;
}
