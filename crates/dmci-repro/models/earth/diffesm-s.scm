;; DiffESM-S, a small Earth system: carbon, methane, nitrous oxide, two layers of temperature, ice,
;; aerosols and three biomes; 20 states, 70 parameters, steps of one year. The value is the surface
;; temperature T_s after `steps` years.
;; Inputs: steps; the yearly emissions E_CO2 (10), E_CH4 (100), E_N2O (4), E_SO2 (50).
(params
  ;; radiative forcing
  (p_rf_co2 free 5.35) (p_rf_co2r free 590.0) (p_rf_ch4 free 0.036) (p_rf_ch4r free 1900.0)
  (p_rf_n2o free 0.12) (p_rf_n2or free 332.0) (p_rf_sulf free 0.1) (p_rf_bc free 0.05)
  (p_rf_ind free -0.15) (p_a_ice free 0.6) (p_a_ocn free 0.06) (p_a_ref free 0.438)
  (p_rf_alb free 1.5) (p_rf_vol free 0.0) (p_rf_fb free 1.0)
  ;; temperature
  (p_lam free 1.2) (p_kht free 0.73) (p_Cm free 8.0) (p_Cd free 100.0)
  ;; carbon
  (p_cf free 0.3) (p_npp free 60.0) (p_npp_to free 2.0) (p_tr free 0.04) (p_resp free 0.02)
  (p_lit free 0.035) (p_df free 0.1) (p_ds free 0.005) (p_fs free 0.01) (p_pts free 2.0) (p_pt free 0.001)
  (p_ao free 0.05) (p_oa free 0.005) (p_ots free 0.01) (p_od free 0.001) (p_do free 0.0005)
  ;; methane and nitrous oxide
  (p_md free 0.09) (p_mts free 0.02) (p_mw free 20.0) (p_mp free 0.001) (p_mo free 10.0) (p_mnb free 40.0)
  (p_ns free 1.0) (p_nts free 0.02) (p_nd free 0.008) (p_no free 3.0)
  ;; ice and aerosols
  (p_im free 2.0) (p_it free 3.0) (p_ir free 0.05)
  (p_sf free 0.02) (p_sd free 1.0) (p_alt free 0.02) (p_be free 0.001) (p_bd free 0.2)
  ;; biomes: production, leaf and wood turnover, water stress, best temperature, frost
  (p_b1p free 2.0) (p_b1lt free 0.1) (p_b1wt free 0.01) (p_b1ws free 0.05) (p_b1to free 1.0)
  (p_b2p free 1.5) (p_b2lt free 0.08) (p_b2wt free 0.008) (p_b2ws free 0.03) (p_b2to free 0.5) (p_b2fs free 0.02)
  (p_b3p free 0.8) (p_b3lt free 0.15) (p_b3wt free 0.02) (p_b3ws free 0.04) (p_b3to free 1.5) (p_b3fs free 0.01))

;; Forcing by the state of the atmosphere and of the ice, in W/m2.
(define (forcing C_atm M N ice S B)
  (let ((co2 (* p_rf_co2 (log (/ C_atm p_rf_co2r))))
        (ch4 (* p_rf_ch4 (- (sqrt M) (sqrt p_rf_ch4r))))
        (n2o (* p_rf_n2o (- (sqrt N) (sqrt p_rf_n2or))))
        (aerosols (+ (- (* p_rf_sulf S)) (* p_rf_bc B) (* p_rf_ind (log (+ 1 S)))))
        (albedo (+ (* p_a_ice ice) (* p_a_ocn (- 1 ice)))))
    (* p_rf_fb (+ co2 ch4 n2o aerosols (* p_rf_alb (- p_a_ref albedo)) p_rf_vol))))

;; A biome has leaves and wood, and traits: production, leaf turnover, wood turnover, water stress,
;; best temperature, frost loss.
(define traits
  (list (list p_b1p p_b1lt p_b1wt p_b1ws p_b1to 0.0)
        (list p_b2p p_b2lt p_b2wt p_b2ws p_b2to p_b2fs)
        (list p_b3p p_b3lt p_b3wt p_b3ws p_b3to p_b3fs)))

;; One year of a biome at temperature T and fertilisation phi:
;; photosynthesis, wood loss, new leaves, new wood.
(define (grow biome traits T phi)
  (let ((leaf (first biome)) (wood (second biome)))
    (apply
      (lambda (p lt wt ws to fs)
        (let ((ph (* p leaf phi (exp (- (/ (square (- T to)) 20)))))
              (wood-loss (* wt wood))
              (leaf-loss (+ (* lt leaf)
                            (* ws leaf (sigmoid (* 2 (- T 3))))
                            (* fs leaf (sigmoid (* -5 T))))))
          (list ph wood-loss
                (- (+ leaf (* 0.05 ph)) leaf-loss)
                (- (+ wood (* 0.25 ph)) wood-loss))))
      traits)))

(let year ((n steps)
           (C_atm 590.0) (C_up 900.0) (C_deep 37000.0) (C_veg 550.0) (C_sf 300.0) (C_ss 1200.0) (C_perm 1400.0)
           (M 1900.0) (N 332.0) (T_s 0.0) (T_d 0.0) (ice 0.7) (S 1.0) (B 0.1)
           (biomes '((5.0 200.0) (4.0 100.0) (2.0 30.0))))
  (if (= n 0)
      T_s
      (let* ((R (forcing C_atm M N ice S B))
             (heat (* p_kht (- T_s T_d)))
             (T (+ T_s (/ (- R (* p_lam T_s) heat) p_Cm)))
             ;; carbon fluxes at the new temperature
             (phi (+ 1 (* p_cf (log (/ C_atm 590)))))
             (npp (* p_npp phi (exp (- (/ (square (- T p_npp_to)) 10)))))
             (rho (exp (* p_tr T)))
             (respiration (* p_resp C_veg rho))
             (litter (* p_lit C_veg))
             (fast-decay (* p_df C_sf rho))
             (slow-decay (* p_ds C_ss rho))
             (fast-to-slow (* p_fs C_sf))
             (thaw (sigmoid (* p_pts (- T 2))))
             (permafrost (* p_pt thaw C_perm))
             (uptake (* p_ao (- C_atm (* p_ots T C_up))))
             (outgassing (* p_oa C_up))
             (sinking (- (* p_od C_up) (* p_do C_deep)))
             ;; ice
             (equilibrium (sigmoid (- (* p_im (- T p_it)))))
             (raw-ice (+ ice (* p_ir (- equilibrium ice))))
             ;; biomes
             (grown (map (lambda (biome traits) (grow biome traits T phi)) biomes traits))
             (photosynthesis (apply + (map first grown)))
             (wood-loss (apply + (map second grown))))
        (year (- n 1)
              (+ (- (+ C_atm E_CO2) npp photosynthesis) wood-loss respiration fast-decay slow-decay
                 permafrost (- uptake) outgassing)
              (- (+ C_up uptake) outgassing sinking)
              (+ C_deep sinking)
              (- (+ C_veg npp) respiration litter)
              (- (+ C_sf litter) fast-decay fast-to-slow)
              (- (+ C_ss fast-to-slow) slow-decay)
              (- C_perm permafrost)
              (- (+ M E_CH4 p_mnb (* p_mw (exp (* 0.05 T))) p_mo (* p_mp thaw C_perm))
                 (* p_md (exp (* p_mts T)) M))
              (- (+ N E_N2O (* p_ns (exp (* p_nts T))) p_no) (* p_nd N))
              T
              (+ T_d (/ heat p_Cd))
              (sigmoid (* 20 (- raw-ice 0.5)))
              (- (+ S (* p_sf E_SO2)) (* p_sd S (+ 1 (* p_alt T))))
              (- (+ B (* p_be E_CO2)) (* p_bd B))
              (map cddr grown)))))
