// The uploader's style asks whether scripts run; the portal's theme.js says so there, and the admin has a theme of its own.
document.documentElement.dataset.js = "";
