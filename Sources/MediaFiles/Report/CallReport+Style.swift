extension CallReport {
    /// Light and dark by the reader's system; readable in both at the contrast that WCAG AA asks for.
    static let styleSheet = """
        :root {
          --paper: #f6f7f9; --card: #ffffff; --ink: #17212b; --soft: #55636f; --edge: #dde3e8;
          --good: #11734a; --good-soft: #dff3e8; --bad: #b3261e; --bad-soft: #fbe4e2; --warn: #875400; --warn-soft: #fdf0d5;
          --line0: #0b6bcb; --line1: #c2410c; --line2: #0f766e; --line3: #7e3fb8;
          --neutral: #ccd5dc; --neutral-ink: #26323c; --working: #f2c14e; --working-ink: #3d2c00;
          --fine: #1c8a5b; --fine-ink: #ffffff; --poor: #c9372c; --poor-ink: #ffffff;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --paper: #10161c; --card: #18212a; --ink: #e8eef3; --soft: #a3b1bd; --edge: #2b3742;
            --good: #6fdca6; --good-soft: #133526; --bad: #ff9d94; --bad-soft: #431b18; --warn: #f6c667; --warn-soft: #3a2b0c;
            --line0: #6cb4ff; --line1: #ff9a62; --line2: #4fd1c5; --line3: #c9a0f5;
            --neutral: #3a4855; --neutral-ink: #e8eef3; --working: #c8961f; --working-ink: #1d1500;
            --fine: #2fa673; --fine-ink: #04140c; --poor: #e0574c; --poor-ink: #1c0503;
          }
        }
        * { box-sizing: border-box; }
        body { margin: 0; background: var(--paper); color: var(--ink);
          font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
        main { max-width: 1180px; margin: 0 auto; padding: 40px 24px 64px; }
        h1 { margin: 0; font-size: clamp(1.6rem, 4vw, 2.3rem); letter-spacing: -0.02em; line-height: 1.2; }
        h2 { margin: 40px 0 12px; font-size: 1.1rem; }
        .subtitle { margin: 6px 0 24px; color: var(--soft); }
        .verdict { display: flex; gap: 16px; align-items: center; padding: 18px 20px; border-radius: 14px; }
        .verdict p { margin: 0; font-size: 1.05rem; }
        .badge { flex: none; padding: 4px 14px; border-radius: 999px; font-weight: 650; color: var(--card); }
        .verdict.passed { background: var(--good-soft); } .verdict.passed .badge { background: var(--good); }
        .verdict.failed { background: var(--bad-soft); } .verdict.failed .badge { background: var(--bad); }
        .verdict.warning, .verdict.interrupted { background: var(--warn-soft); } .verdict.warning .badge, .verdict.interrupted .badge { background: var(--warn); }
        .card { background: var(--card); border: 1px solid var(--edge); border-radius: 14px; padding: 16px; margin: 0; }
        .scrolls { overflow-x: auto; }
        .checks { list-style: none; margin: 0; padding: 0; display: grid; gap: 10px;
          grid-template-columns: repeat(auto-fill, minmax(280px, 1fr)); }
        .checks li { display: flex; gap: 12px; align-items: flex-start; background: var(--card);
          border: 1px solid var(--edge); border-radius: 12px; padding: 12px 14px; }
        .mark { flex: none; width: 26px; height: 26px; border-radius: 50%; display: grid; place-items: center;
          font-weight: 700; }
        .passed .mark { background: var(--good-soft); color: var(--good); }
        .failed .mark { background: var(--bad-soft); color: var(--bad); }
        .warning .mark, .interrupted .mark { background: var(--warn-soft); color: var(--warn); }
        .detail { display: block; color: var(--soft); font-size: 0.92rem; }
        .hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
        .plots { display: grid; gap: 14px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); }
        figure { margin: 0; }
        figcaption { margin-bottom: 8px; }
        .unit { color: var(--soft); font-size: 0.9rem; }
        .legend { float: right; font-size: 0.88rem; color: var(--soft); }
        .key { margin-left: 14px; white-space: nowrap; }
        .key::before { content: ""; display: inline-block; width: 14px; height: 3px; border-radius: 2px;
          margin-right: 6px; vertical-align: middle; background: currentColor; }
        .key.line0::before { background: var(--line0); } .key.line1::before { background: var(--line1); }
        .key.line2::before { background: var(--line2); } .key.line3::before { background: var(--line3); }
        svg { display: block; width: 100%; height: auto; }
        svg.timeline { min-width: 720px; }
        svg .grid { stroke: var(--edge); } svg .tick { fill: var(--soft); font-size: 11px; }
        svg .lane { fill: var(--ink); font-size: 13px; }
        svg path { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
        svg .line0 { stroke: var(--line0); } svg .line1 { stroke: var(--line1); stroke-dasharray: 7 3; }
        svg .line2 { stroke: var(--line2); stroke-dasharray: 2 4; } svg .line3 { stroke: var(--line3); }
        .bar text { font-size: 12px; }
        .bar.neutral rect { fill: var(--neutral); } .bar.neutral text { fill: var(--neutral-ink); }
        .bar.working rect { fill: var(--working); } .bar.working text { fill: var(--working-ink); }
        .bar.good rect { fill: var(--fine); } .bar.good text { fill: var(--fine-ink); }
        .bar.bad rect { fill: var(--poor); } .bar.bad text { fill: var(--poor-ink); }
        .thumbnails { display: grid; gap: 14px; grid-template-columns: repeat(auto-fill, minmax(200px, 1fr)); }
        .thumbnails img { display: block; width: 100%; border-radius: 12px; border: 1px solid var(--edge); }
        .thumbnails figcaption { margin: 6px 0 0; color: var(--soft); font-size: 0.9rem; }
        table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: 0.94rem; }
        th, td { padding: 8px 12px; text-align: right; border-bottom: 1px solid var(--edge); white-space: nowrap; }
        th:first-child { text-align: left; } thead th { color: var(--soft); font-weight: 600; }
        tbody th { font-weight: 500; } tbody tr:last-child > * { border-bottom: 0; }
        @media (max-width: 560px) { main { padding: 24px 14px 40px; } .verdict { flex-direction: column; align-items: flex-start; }
          .legend { float: none; display: block; } .key:first-child { margin-left: 0; } }
        @media print { body { background: none; } .card, .checks li { break-inside: avoid; } }
        """
}
