import type { ReactNode } from 'react';
import { Redirect } from 'wouter';
import { useMe } from './app/session.tsx';
import { PAGE_PATHS } from './paths.ts';

const HOME = {
  user: PAGE_PATHS.directory,
  agent: PAGE_PATHS.desk,
  supervisor: PAGE_PATHS.wallboard,
  admin: PAGE_PATHS.welcome,
} as const;
/** Leads each person to what it works with. */
export const HomePage = (): ReactNode => <Redirect to={HOME[useMe().level]} replace />;
