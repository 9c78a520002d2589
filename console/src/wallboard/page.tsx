import type { ReactNode } from 'react';
import { Empty } from '../app/states.tsx';

export const WallboardPage = (): ReactNode => <Empty title="WallboardPage" />;
