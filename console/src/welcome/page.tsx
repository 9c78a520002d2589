import type { ReactNode } from 'react';
import { Empty } from '../app/states.tsx';

export const WelcomePage = (): ReactNode => <Empty title="WelcomePage" />;
